"""Co-regression across sites that share no data: they exchange predictions for agreed unlabeled examples only.

`Site` is a party with its data; `agree` leads any number of them to the common optimum over any transport: `LocalSites`
in one process, or the federated engine in `accord.federated.flower`.
"""

from accord.federated.agreement import Agreement, LocalSites, Transport, agree
from accord.federated.site import Site
from accord.federated.state import RoundReport

__all__ = ["Agreement", "LocalSites", "RoundReport", "Site", "Transport", "agree"]
