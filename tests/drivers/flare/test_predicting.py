"""A prediction over calls as FLARE carries them: what each site is told, keeps and states."""

import numpy as np
import pandas as pd
import pytest
from support.network import Network

from plaintext_baselines._exact import ExactRows
from plaintext_baselines._quantise import quantise
from secfc.field.label_packing import PackedLabels

pytestmark = pytest.mark.usefixtures("clock")


@pytest.mark.parametrize("disclosure", ["labels", "coded"])
def test_each_site_writes_all_its_labels_and_calls_have_those_of_old_rows_only_if_coded(
    organisations, disclosure
):
    made = organisations(36, 40, 45, predict=True, disclosure=disclosure)
    rng, starts = np.random.default_rng(3), []
    for name, rows in zip(made.names, made.rows, strict=True):
        labels = rng.integers(0, 3, len(rows)).astype(np.int32)
        labels[-4:] = -1
        frame = pd.DataFrame(rows, columns=[str(at) for at in range(rows.shape[1])])
        frame.assign(cluster=labels).to_csv(made.folder / f"{name}.csv", index=False)
        made.configure(name, data=f"{name}.csv", more='start = "cluster"\n[limits]\npredict = true\n')
        starts.append(labels)
    bodies = []

    def spoil(site, said, deliver):
        bodies.append(bytes(said.body))
        answer = deliver()
        bodies.append(bytes(answer))
        return answer

    Network(made, spoil=spoil).run()
    job, every = made.agreement.job, np.concatenate(starts)
    exact = ExactRows(quantise([np.concatenate(made.rows)], job.unit), job.k, job.unit, None)
    expected = np.where(every < 0, exact.assign(exact.means(every)).labels, every)
    found = np.concatenate([made.labels(name) for name in made.names])
    assert found.tolist() == expected.tolist()
    for labels in starts:
        encoded = [labels[:32].astype(kind).tobytes() for kind in ("u1", "<u2", "<i4")]
        encoded.append(bytes(PackedLabels.of(labels, job.k, none=True).payload))
        assert any(one in body for one in encoded for body in bodies) == (disclosure == "coded")
