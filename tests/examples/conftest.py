"""Fixtures of several tests of programs."""

import helpers
import pytest


@pytest.fixture(scope="session", name="policy_file")
def _policy_file(tmp_path_factory):
  """Returns the file of a policy for two dice, trained for two seconds."""
  path = tmp_path_factory.mktemp("policy") / "policy.npz"
  helpers.run_example("train_dudo.py", "--numdice=2", "--minutes=0.03",
                      f"--save_policy={path}", "--num_threads=1")
  return path
