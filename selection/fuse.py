"""Join near's scores with an embedder's: z(near) + WEIGHT x z(cosine), both over all texts of a conversation.

Run:  python evaluate.py --strategies bm25,near --fuse my_embedder.py:embed

The embedder is any callable that turns a list of texts into a list of vectors of one length: {"my_embedder.py": a
function `embed(texts)`}. It is called once for a conversation and once for each question. Scores are made comparable
by their spread: z = (score - mean) / standard deviation, and 0 for all where there is no spread. A text that near
scores nothing and whose cosine is not positive is worth nothing.

Does not choose a model or cut long texts for one.
"""

from math import fsum, sqrt

WEIGHT = 0.75  # of the embedder beside near


def fused(near_scores, cosines, weight=WEIGHT):
    """{number: score} of every text that near or the embedder finds anything in.

    near_scores  {number of a text: score}, a missing one is 0
    cosines      a number for each text
    """
    lexical = z_scores([near_scores.get(number, 0.0) for number in range(len(cosines))])
    dense = z_scores(cosines)
    return {number: lexical[number] + weight * dense[number] for number in range(len(cosines))
            if number in near_scores or cosines[number] > 0}


def z_scores(scores):
    """Each score's distance from the mean in standard deviations; zeros where all are alike."""
    if not scores:
        return []
    mean = fsum(scores) / len(scores)
    deviation = sqrt(fsum((score - mean) ** 2 for score in scores) / len(scores))
    return [(score - mean) / deviation for score in scores] if deviation > 0 else [0.0] * len(scores)


def unit_vectors(embed, texts):
    """The texts' vectors at length one (or nil), or ValueError for an embedder that does not give one for each."""
    vectors = [[float(value) for value in vector] for vector in embed(list(texts))]
    if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1:
        raise ValueError(f"the embedder gave {len(vectors)} vectors of {sorted({len(v) for v in vectors})} numbers for "
                         f"{len(texts)} texts; it has to give one for each, all of one length")
    scaled = []
    for vector in vectors:
        length = sqrt(fsum(value * value for value in vector))
        if not length < float("inf"):
            raise ValueError("the embedder gave a vector with NaN or infinity in it; mend the embedder")
        scaled.append([value / length for value in vector] if length else vector)
    return scaled


def products(vector, vectors):
    """The products of one vector with each of many: their cosines at length one."""
    if vectors and len(vector) != len(vectors[0]):
        raise ValueError(f"the embedder gave {len(vector)} numbers for the question and {len(vectors[0])} for a text")
    return [fsum(map(float.__mul__, vector, other)) for other in vectors]
