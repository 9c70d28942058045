"""Read what an Ollama says of a model's build: is it local, does it bring what would change the counted prompt?"""

import re

from answers.exchange import ServerError, get_json
from base.command import InputError

CHECKED_VERSIONS = ("0.32.14", "0.33.0-rc2")
OLDEST_REFUSED = (0, 30, 0)  # it reports short counts, and the versions before it run another engine
PARAMETERS = frozenset("temperature top_k top_p min_p repeat_penalty presence_penalty frequency_penalty seed num_ctx"
                       " num_predict num_keep num_batch num_gpu num_thread stop".split())  # ours, or harmless
DIRECTIVE = re.compile(r"^[^\S\n]*(renderer|parser|adapter)[^\S\n]+(.*\S)", re.IGNORECASE | re.MULTILINE)


def bare_digest(digest):
    """64 lower-case hexadecimal digits; a prefix sha256: and capitals are taken from a block, never from a server."""
    bare = str(digest).lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", bare):
        raise InputError(f"model block: digest {digest!r} is not 64 hexadecimal digits; answer_model.py pin prints one")
    return bare


def field(value, name, kind, where):
    """A field of a server's reply, `kind()` where it is left out or null, or ServerError where it is something else."""
    part = kind() if value.get(name) is None else value[name]
    if not isinstance(part, kind):
        raise ServerError(
            f"{where}: {name} is {part!r:.60}, no {kind.__name__}; is this the address of a model's server?")
    return part


def check_version(version, url):
    """The version a server gives, or ServerError for one that is refused; a warning for one that nobody checked."""
    number = re.match(r"(\d+)\.(\d+)\.(\d+)", version) if isinstance(version, str) else None
    if number is None:
        raise ServerError(f"{url}: no Ollama version in the reply; is this the address of an Ollama?")
    if tuple(map(int, number.groups())) <= OLDEST_REFUSED:
        raise ServerError(
            f"{url}: Ollama {version} is refused: its counts or its engine are wrong; install a newer one")
    return version


def full_name(name):
    """A model's name with the parts that may be left out, without regard to case."""
    name = name.lower().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def find_build(tags, tag, url, pinned=""):
    """The entry of /api/tags for a tag; ServerError where there is none, or a cloud model, which nothing pins."""
    if re.search(r"[:-]cloud$", tag.lower()):
        raise ServerError(f"{url}: {tag} is a cloud model and cannot be pinned; use a local build")
    for entry in field(tags, "models", list, url):
        if isinstance(entry, dict) and full_name(str(entry.get("name") or entry.get("model", ""))) == full_name(tag):
            if entry.get("remote_host") or entry.get("remote_model"):
                raise ServerError(f"{url}: {tag} is answered elsewhere and cannot be pinned; use a local build")
            return entry
    raise ServerError(f"{url} has no model {tag}{pinned}; run `ollama pull {tag}`, or see `ollama list`")


def check_shown(url, tag, renderer=None):
    """(what a recording keeps of /api/show, all that it says), or ServerError where the build changes what is asked."""
    where, shown = f"{url}: {tag}", get_json(f"{url}/api/show", {"model": tag})
    modelfile = field(shown, "modelfile", str, where)
    told = {name.upper(): value for name, value in DIRECTIVE.findall(modelfile)}
    parameters = sorted(
        " ".join(line.split()) for line in field(shown, "parameters", str, where).splitlines() if line.strip())
    unknown = sorted({line.split()[0] for line in parameters} - PARAMETERS)
    capabilities = sorted(map(str, field(shown, "capabilities", list, where)))
    for bad, reason in ((shown.get("system"), "brings a system text of its own"),
                        (shown.get("messages"), "brings messages of its own"), ("ADAPTER" in told, "has an adapter"),
                        (unknown, f"sets {', '.join(unknown)}, which is not ours to undo"),
                        (capabilities and "completion" not in capabilities, "cannot complete text"),
                        (renderer and modelfile and not told.get("RENDERER", "").startswith(renderer),
                         f"renders prompts with {told.get('RENDERER', 'a template')} and not {renderer}")):
        if bad:
            raise ServerError(f"{where} {reason}: another prompt than was counted; pull the published build")
    weights = re.search(r"sha256-[0-9a-f]{64}|$", modelfile)[0] or None
    return {"parameters": parameters, "capabilities": capabilities, "renderer": told.get("RENDERER"),
            "parser": told.get("PARSER"), "weights": weights}, shown


def pinned_block(url, tag):
    """What a model block says of the build that a server has under a tag; what the server does not say is null."""
    entry = find_build(get_json(f"{url}/api/tags"), tag, url)
    version = check_version(get_json(f"{url}/api/version").get("version"), url)
    facts, shown = check_shown(url, tag)
    details, info = field(entry, "details", dict, url), field(shown, "model_info", dict, url)
    return {"publisher_model": info.get("general.base_model.0.repo_url") or info.get("general.name"),
            "license": info.get("general.license"), "ollama_tag": entry.get("name") or tag,
            "ollama_digest": bare_digest(entry.get("digest")), "ollama_version": version,
            "quantization": details.get("quantization_level"), "parameters": details.get("parameter_size"),
            "renderer": facts["renderer"]}
