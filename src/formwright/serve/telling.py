"""What one entry of a journal says, in a line; entries that are not known have their key alone."""

from formwright.report.pages.entries import Entry, at, items, mapping
from formwright.serve.values import number, shown_seconds, text


def told(entry: Entry) -> str:
    """A short line about ``entry``; may be empty. Nothing in it is to be trusted as markup."""
    data = entry.data
    match entry.key.split("/")[0]:
        case "problem" | "study":
            return _began(data)
        case "chip" if "/" not in entry.key:
            return text(at(data, "name"))
        case "about":
            return f"{text(at(data, 'problem'))}: {text(at(data, 'operator'))}"
        case "agent":
            return f"templates by {text(at(data, 'proposer'))}"
        case "prove" | "template":
            return text(at(data, "verdict")) or text(at(data, "proof"))
        case "ask":
            return _asked(data)
        case "judge":
            return _judged(data)
        case "solve":
            return f"{len(items(at(data, 'designs')))} designs chosen"
        case "build" | "source":
            return _built(data)
        case "validate":
            return _verdict(at(data, "verdict"), at(data, "message"))
        case "measure" | "final" | "confirm" | "baselines" | "kernel":
            return _measured(data)
        case "time":
            return shown_seconds(number(at(data, "seconds")))
        case "refit":
            return _refitted(data)
        case "diagnose":
            return "; ".join(text(at(d, "kind")) for d in items(data))
        case "generation":
            return _gained(data)
        case "go":
            return text(at(data, "stop"))
        case "qualify":
            return _qualified(data)
        case "agreement":
            return _agreement(data)
        case "run":
            return _ran(data)
        case "machine":
            return text(at(data, "cpu")) or text(at(data, "host"))
        case "lost":
            return f"lost on {text(at(data, 'machine'))}: {text(at(data, 'why'))}"
        case _:
            return _method(data)


def _began(data: object) -> str:
    version = text(at(data, "version"))
    name = text(at(data, "study"))
    named = f"{name}, " if name and len(name) < 32 else ""
    return f"{named}version {version}" if version else named.removesuffix(", ")


def _asked(data: object) -> str:
    fault = text(at(data, "problem"))
    count = len(items(at(data, "proposals")))
    return f"{text(at(data, 'kind'))}: {fault or f'{count} proposal(s)'}"


def _judged(data: object) -> str:
    said = f"{text(at(data, 'name'))} {text(at(data, 'verdict'))}".strip()
    conditions = dict.fromkeys(text(at(f, "condition")) for f in items(at(data, "findings")))
    named = ", ".join(c for c in conditions if c)
    return f"{said}: {named}" if named else said


def _built(data: object) -> str:
    fault = text(at(data, "error"))
    if fault:
        return f"not built: {fault}"
    return f"built in {shown_seconds(number(at(data, 'seconds')))}"


def _verdict(verdict: object, message: object) -> str:
    said, why = text(verdict), text(message)
    return f"{said}: {why}" if why else said


def medians(data: object) -> dict[str, float]:
    """Median seconds of each program that an entry timed."""
    programs = mapping(at(data, "programs"))
    found = {name: number(at(timed, "seconds", "median")) for name, timed in programs.items()}
    return {name: value for name, value in found.items() if value is not None}


def _measured(data: object) -> str:
    found = medians(data)
    if not found:
        return ""
    best = min(found, key=lambda name: (found[name], name))
    told = f"{shown_seconds(found[best])} in the median (measured)"
    return f"{text(best)} has the least time of {len(found)}: {told}"


def _refitted(data: object) -> str:
    error = number(at(data, "error_after"))
    return "" if error is None else f"prediction error {error:.1%} in the mean"


def _gained(data: object) -> str:
    gained = ", ".join(text(name) for name in items(at(data, "gained")))
    return f"gained at {gained}" if gained else "nothing gained"


def _qualified(data: object) -> str:
    artifact = text(at(data, "artifact"))
    return f"qualified: {artifact}" if artifact else f"not qualified: {text(at(data, 'message'))}"


def _agreement(data: object) -> str:
    rank = number(at(data, "rank"))
    return "" if rank is None else f"rank correlation of model and evaluator {rank:.3f}"


def _ran(data: object) -> str:
    fault = text(at(data, "fault"))
    return fault or f"first kernel {shown_seconds(number(at(data, 'first_latency')))} (measured)"


def _method(data: object) -> str:
    objective, area = number(at(data, "objective")), number(at(data, "area"))
    if objective is None:
        return ""
    return f"objective {objective:.6g}" + ("" if area is None else f", {area:.4g} mm2")
