"""Whether two answers are the same but for what must differ."""

import re

# Of the moment, or ours.
PASSING = ("date", "x-ringtail-topology", "x-ringtail-node", "x-ringtail-cluster")
# What an error that webmachine or Ringtail words says of its words.
OF_WORDS = ("content-type", "content-length", "content-encoding")


def exact(answer):
    """For two reads of one object: everything but the time, our headers and multipart boundaries'
    random names."""
    if is_worded(answer):
        return (
            answer.status,
            sorted(
                (name, value) for name, value in answer.headers if name not in PASSING + OF_WORDS
            ),
            b"",
        )
    headers, body = [], answer.body
    boundary = re.search(r"boundary=([^;\s]+)", answer["content-type"] or "")
    for name, value in answer.headers:
        if name not in PASSING:
            headers.append(
                (name, value.replace(boundary.group(1), "BOUNDARY") if boundary else value)
            )
    if boundary:
        body = body.replace(boundary.group(1).encode(), b"BOUNDARY")
    return _with_length(answer, headers, _inner(body))


def is_worded(answer):
    """Whether an error's words are webmachine's page or our document, one in place of the other.
    Riak's own are text."""
    kind = (answer["content-type"] or "").split(";")[0]
    return (
        answer.status >= 400 and answer.status != 500 and kind in ("text/html", "application/json")
    )


def _with_length(answer, headers, masked):
    """A length that is right is replaced by that of the body without its random parts."""
    if not masked and "multipart" in (answer["content-type"] or ""):
        # To a HEAD: the length of a body with a boundary that is not always as long.
        headers = [header for header in headers if header[0] != "content-length"]
    right, new = ("content-length", str(len(answer.body))), ("content-length", str(len(masked)))
    if answer.status == 500:
        # Riak answers with the trace of its crash, in which our module shows.
        headers, masked = [header for header in headers if header[0] != "content-length"], b""
    return answer.status, sorted(new if header == right else header for header in headers), masked


def _inner(body):
    """A part may be multipart itself."""
    return re.sub(rb"(?<=boundary=)[^;\s]+|(?<=--)[0-9A-Za-z]{20,}", b"BOUNDARY", body)


def similar(answer, *named):
    """For the same request about two objects: vtags, vclocks and times too are only known to be
    there, and what names the object (`named`: texts) is taken out."""
    status, headers, body = exact(answer)
    length = ("content-length", str(len(body)))
    body = re.sub(rb"(?im)^(x-riak-vclock|etag|last-modified): .*$", rb"\1: ?", body)
    # The list of siblings' vtags as text/plain, and times in error texts.
    body = re.sub(rb"\b[0-9A-Za-z]{20,22}\b", b"VTAG", body)
    text = _without(body.decode("latin-1"), named)
    masked = [
        (
            name,
            (
                "?"
                if name in ("etag", "x-riak-vclock", "last-modified")
                else str(len(text)) if (name, value) == length else _without(value, named)
            ),
        )
        for name, value in headers
    ]
    return status, sorted(masked), text


def _without(text, named):
    for one in named:
        text = text.replace(one, "OBJECT")
    return text
