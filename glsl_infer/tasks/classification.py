"""Classification as a task."""

from __future__ import annotations

from pathlib import Path
from typing import Union

from glsl_infer.gl.context import Context
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.session import Session
from glsl_infer.tasks.description import CLASSIFICATION, ClassificationRules
from glsl_infer.tasks.results import Labels
from glsl_infer.tasks.task import PictureSource, Task, load_picture, size_of


class Labeller(Task[Labels]):
    """A ``Classifier`` whose result can draw itself."""

    kind = CLASSIFICATION

    def __call__(self, picture: PictureSource) -> Labels:
        """Return the most probable labels of an image; arguments and errors as for ``Task``."""
        loaded = load_picture(picture)
        rules = self.description.rules
        assert isinstance(rules, ClassificationRules)
        ranked = self._classifier.rank(self._run(loaded), rules.top)
        return Labels(tuple(ranked), size_of(loaded))

    def _open(self, path: Path, context: Union[str, Context]) -> Session:
        self._classifier = Classifier(path, context=context, isolated="first")
        return self._classifier.session
