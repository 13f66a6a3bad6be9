"""One measured attack: adversary, target and success."""

from dataclasses import dataclass

from benchmarks.costs.setting import Setting, stated
from secfc.protocol.job.job import Job


@dataclass(frozen=True, kw_only=True)
class AttackRow(Setting):
    """One measurement of an attack.

    Attributes
    ----------
    attack : str
        Its name; `benchmarks.privacy.measure.ATTACKS` describes it.
    adversary : str
        The attackers: "3 clients", "server", "server + client", ...
    against : str
        The attacked disclosure or method: "coded", "labels", "any", "k-FED", ...
    swept : str
        The quantity that varies between the points of a line.
    value : float
        Its value here.
    measure : str
        The meaning of `success`.
    success : float
    nothing, everything : float
        The value of the measure if nothing was learned, and if everything was.
    note : str
    """

    attack: str
    adversary: str
    against: str
    swept: str
    value: float
    measure: str
    success: float
    nothing: float
    everything: float
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A measure of success and its two extreme values."""

    measure: str
    nothing: float
    everything: float

    def row(
        self,
        success: float,
        *,
        job: Job,
        m: int,
        attack: str,
        adversary: str,
        swept: str,
        value: float,
        against: str = "any",
        note: str = "",
    ) -> AttackRow:
        """A row on this scale."""
        return AttackRow(
            **stated(job, m=m, residues=job.residues(m)),
            attack=attack,
            adversary=adversary,
            against=against,
            swept=swept,
            value=float(value),
            measure=self.measure,
            success=float(success),
            nothing=self.nothing,
            everything=self.everything,
            note=note,
        )


EXACT = Scale(measure="values recovered exactly", nothing=0.0, everything=1.0)
PLACED = Scale(measure="error of placing the rows", nothing=1.0, everything=0.0)
"""Root of the summed squared distances of placed to true rows, divided by that of the rows to their mean."""
CENTRES = Scale(measure="error of centres, relative to their distance", nothing=1.0, everything=0.0)
OF_RANGE = Scale(measure="error in ranges of a value", nothing=1.0, everything=0.0)
NEAR = Scale(measure="rows placed within 2 % of the range of their column", nothing=0.0, everything=1.0)
DISCLOSED = Scale(measure="rows disclosed as they are", nothing=0.0, everything=1.0)
UNKNOWN_BITS = Scale(measure="share of a value's bits that stay unknown", nothing=1.0, everything=0.0)
