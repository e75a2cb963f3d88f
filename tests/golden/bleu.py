"""Writes what sacreBLEU says about random and ordinary sentences as JSON: bleu.py FILE."""

import json
import random
import sys

from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

ORDINARY = [
    ("a man in an orange hat starring at something .", "a man in an orange hat stares at it ."),
    ("Ein Boston-Terrier läuft über saftig-grünes Gras.", "ein boston terrier läuft über gras ."),
    ("The price is $1,234.56 (about 1.000-2.000 €), isn't it?", "It's $1,234.56 - or 1-2 % more."),
    ("a woman &apos;s shoulders &amp; &quot;arms&quot;", "a woman 's shoulders & \"arms\""),
    ("version 2.0.1, section 3.4.", "version 2.0, section 3 , 4 ."),
    ("日本語、テスト。 ok", "日本語 テスト。 ok"),
    ("well... no,,, yes.-.,", "well . . . no , yes"),
    ("<skipped> nothing", "nothing"),
    ("", "a reference without a translation"),
]
ALPHABET = list("ab1 2.,-'!?&;:/()[]{}<>%$\"`~ éß€日") + ["\u00a0", "\u2003", "\t", "&lt;", "&quot;"]
WORDS = ["the", "cat", "sat", "on", "a", "mat", "today", ",", "."]


def characters(rng):
    return "".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, 40)))


def sentence(rng, longest):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, longest)))


def corpora(rng):
    yield ORDINARY
    for pair in ORDINARY:
        yield [pair]
    yield [("a b c d e", "a b c d e")]
    yield [("a", "a")]  # nothing as long as four words
    yield [("a b c d e", "v w x y z")]  # nothing in common
    yield [("a b x y z", "v w a b q")]  # runs of three and four are smoothed
    for size in (1, 2, 5, 30):
        for _ in range(5):
            yield [(characters(rng), characters(rng)) for _ in range(size)]
            yield [(sentence(rng, 4 + size), sentence(rng, 12)) for _ in range(size)]


def main():
    rng = random.Random(7)
    tokens = Tokenizer13a()
    bleu = BLEU()
    out = []
    for pairs in corpora(rng):
        got, wanted = [p[0] for p in pairs], [p[1] for p in pairs]
        result = bleu.corpus_score(got, [wanted])
        out.append({
            "translations": got,
            "references": wanted,
            "tokens": [tokens(line.rstrip()).split() for line in got],
            "score": result.score,
        })
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(out, file, ensure_ascii=False)


if __name__ == "__main__":
    main()
