"""One pinned model behind a local Ollama: its block, as the recording names it."""

MODEL = {
    "checked_on": "2026-10-20",
    "publisher_model": "google/gemma-4-E2B-it",
    "license": "Apache-2.0",
    "ollama_tag": "gemma4:e2b",
    "ollama_digest": "b37049369adfe3d2b653af0ab301a062ca5cbe96ace6aa0d3f2559ee9b563fc2",
    "ollama_version": "0.32.14",
    "quantization": "Q4_K_M",
    "parameters": "4.6B total (E2B: about 2B effective)",
    "options": {"temperature": 1.0, "top_k": 64, "top_p": 0.95},
    "think": False,
    "trials": 5,
    "seeds": [1, 2, 3, 4, 5],
}
