"""Read what an Ollama says of a model's build: is it local, does it bring what would change the counted prompt?"""

import re

from answers.exchange import ServerError, get_json
from base.command import InputError
from base.shapes import NONE, of_type

CHECKED_VERSIONS = ("0.32.14", "0.33.0-rc2")
OLDEST_REFUSED = (0, 30, 0)  # it reports short counts, and the versions before it run another engine
PARAMETERS = frozenset("temperature top_k top_p min_p repeat_penalty presence_penalty frequency_penalty seed num_ctx"
                       " num_predict num_keep num_batch num_gpu num_thread stop".split())  # ours, or harmless
DIRECTIVE = re.compile(r"^[^\S\n]*(renderer|parser|adapter)[^\S\n]+(.*\S)", re.IGNORECASE | re.MULTILINE)
VERSION = {"version": lambda version: isinstance(version, str) and re.match(r"\d+\.\d+\.\d+", version)}
BUILDS = {"models?": ([{"name?": str, "model?": str, "details?": (dict, NONE), "context_length?": (int, NONE)}], NONE)}
SHOWN = {**of_type((str, NONE), "modelfile? parameters?"), "capabilities?": ([str], NONE), "model_info?": (dict, NONE)}


def bare_digest(digest):
    """The 64 hexadecimal digits of a block's digest: bare_digest("sha256:" + 64 * "A") -> 64 * "a"; or InputError."""
    bare = str(digest).lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", bare):
        raise InputError(f"model block: digest {digest!r} is not 64 hexadecimal digits; answer_model.py pin prints one")
    return bare


def ollama_version(url):
    """The version that a server gives, or ServerError for one whose counts or engine are not to be trusted."""
    version = get_json(f"{url}/api/version", VERSION)["version"]
    if tuple(map(int, re.findall(r"\d+", version)[:3])) <= OLDEST_REFUSED:
        raise ServerError(f"{url}: Ollama {version} is refused: its counts or engine are wrong; install a newer one")
    return version


def builds(url, path):
    """{name in full: entry} of the models that a server has (/api/tags) or has loaded (/api/ps)."""
    entries = get_json(f"{url}{path}", BUILDS).get("models") or []
    return {full_name(entry.get("name") or entry.get("model", "")): entry for entry in entries}


def full_name(name):
    """A model's name with what may be left out: full_name("Library/Gemma4") -> "gemma4:latest"."""
    name = name.lower().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def find_build(url, tag, pinned=""):
    """The entry of /api/tags for a tag; ServerError where there is none, or a cloud model, which nothing pins."""
    entry = builds(url, "/api/tags").get(full_name(tag), {})
    if re.search(r"[:-]cloud$", tag.lower()) or entry.get("remote_host") or entry.get("remote_model"):
        raise ServerError(f"{url}: {tag} is answered elsewhere and cannot be pinned; use a local build")
    if not entry:
        raise ServerError(f"{url} has no model {tag}{pinned}; run `ollama pull {tag}`, or see `ollama list`")
    return entry


def check_shown(url, tag, renderer=None):
    """(what a recording keeps of /api/show, all that it says), or ServerError where the build changes what is asked."""
    shown = get_json(f"{url}/api/show", SHOWN, {"model": tag})
    modelfile, capabilities = shown.get("modelfile") or "", sorted(shown.get("capabilities") or [])
    said = {name.upper(): value for name, value in DIRECTIVE.findall(modelfile)}
    lines = map(str.split, (shown.get("parameters") or "").splitlines())
    parameters = sorted(" ".join(words) for words in lines if words)
    unknown = sorted({line.split()[0] for line in parameters} - PARAMETERS)
    for bad, reason in ((shown.get("system"), "brings a system text of its own"),
                        (shown.get("messages"), "brings messages of its own"), ("ADAPTER" in said, "has an adapter"),
                        (unknown, f"sets {', '.join(unknown)}, which is not ours to undo"),
                        (capabilities and "completion" not in capabilities, "cannot complete text"),
                        (renderer and modelfile and not said.get("RENDERER", "").startswith(renderer),
                         f"renders prompts with {said.get('RENDERER', 'a template')} and not {renderer}")):
        if bad:
            raise ServerError(f"{url}: {tag} {reason}: another prompt than was counted; pull the published build")
    return {"parameters": parameters, "capabilities": capabilities, "renderer": said.get("RENDERER"),
            "parser": said.get("PARSER"), "weights": re.search(r"sha256-[0-9a-f]{64}|$", modelfile)[0] or None}, shown


def pinned_block(url, tag):
    """What a model block says of the build that a server has under a tag; what the server does not say is null."""
    entry, version, (facts, shown) = find_build(url, tag), ollama_version(url), check_shown(url, tag)
    details, info = entry.get("details") or {}, shown.get("model_info") or {}
    return {"publisher_model": info.get("general.base_model.0.repo_url") or info.get("general.name"),
            "license": info.get("general.license"), "ollama_tag": entry.get("name") or tag,
            "ollama_digest": bare_digest(entry.get("digest")), "ollama_version": version,
            "quantization": details.get("quantization_level"), "parameters": details.get("parameter_size"),
            "renderer": facts["renderer"]}
