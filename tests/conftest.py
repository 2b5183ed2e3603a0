"""Two workers share two cores: a pool of spinning BLAS threads in each would only wait."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
