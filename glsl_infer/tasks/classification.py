"""Classification, in the shape of a task."""

from __future__ import annotations

from pathlib import Path
from typing import Union

from glsl_infer.gl.context import Context
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.session import Session
from glsl_infer.tasks.description import CLASSIFICATION, ClassificationRules
from glsl_infer.tasks.results import Labels
from glsl_infer.tasks.task import Given, Task, size_of, usable


class Labeller(Task[Labels]):
    """Says what is on pictures: a ``Classifier`` whose result draws itself."""

    kind = CLASSIFICATION

    def __call__(self, picture: Given) -> Labels:
        """Return the most probable labels of a picture; see ``Task``."""
        given = usable(picture)
        rules = self.description.rules
        assert isinstance(rules, ClassificationRules)
        ranked = self._classifier.rank(self._run(given), rules.top)
        return Labels(tuple(ranked), size_of(given))

    def _open(self, path: Path, context: Union[str, Context]) -> Session:
        self._classifier = Classifier(path, context=context, isolated="first")
        return self._classifier.session
