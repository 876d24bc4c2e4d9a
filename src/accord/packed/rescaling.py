"""Names of the two ways in which losses scale margins [spec 1]."""

from accord.kernels.chains.violator import MARGIN, SLACK

RESCALINGS = {"margin": int(MARGIN), "slack": int(SLACK)}
