"""Does skipping backward passes pay on your model?"""

from ._core import __version__
