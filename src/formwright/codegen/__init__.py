"""C from a template: emitter, compiler, thread runtime."""

from formwright.codegen.build import Built, build
from formwright.codegen.emit import Emitted, emit_c
from formwright.codegen.target import Target, detect_target, target_named

__all__ = ["Built", "Emitted", "Target", "build", "detect_target", "emit_c", "target_named"]
