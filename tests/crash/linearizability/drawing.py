"""Draws the operations of one key as a timeline: a row for each client, a bar from call to return.

The calls and returns are drawn in their order, at equal distances, since they differ by microseconds in
one place and by seconds in another; the times are in the table below."""
import bisect
import html
import json

AROUND = 40  # operations to each side of the one that failed
MOMENT, ROW, LEFT, TOP = 48, 30, 90, 40
COLOURS = {"good": "#4c9a5b", "refused": "#b8b8b8", "open": "#d9b44a", "failed": "#c0392b"}


def label(operation):
    """Returns what a bar says: the method's last word and what came back."""
    word = operation.method.split(".")[-1]
    if operation.is_open:
        return word + " ?"
    if operation.error:
        return f"{word} {operation.error}"
    result = operation.result
    inner = result.get("claim") or result.get("step") or result.get("lock")
    shown = (inner if isinstance(inner, dict) else result).get("token") or result.get("run_id", "")
    return f"{word} {shown}".rstrip()


def page(title, why, operations, failed, marks):
    """Returns an HTML page with the operations around the ones that failed."""
    ordered = sorted(operations, key=lambda each: each.call_ns)
    middle = ordered.index(failed[0]) if failed and failed[0] in ordered else 0
    shown = ordered[max(0, middle - AROUND):middle + AROUND]
    moments = sorted({at for each in shown for at in (each.call_ns, each.return_ns) if at is not None})
    begin, end = moments[0], moments[-1]
    width = LEFT + MOMENT * (len(moments) + 1)

    def x(at_ns):
        return LEFT + MOMENT * bisect.bisect_left(moments, at_ns)

    names = sorted({each.client for each in shown})
    height = TOP + ROW * len(names) + 20
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="monospace"'
             ' font-size="10">']
    lines = {}  # of each kind of fault, so that their names don't cover one another
    for mark in marks:
        if mark.end_ns >= begin and mark.begin_ns <= end:
            left, right = x(mark.begin_ns) - MOMENT / 2, x(mark.end_ns) - MOMENT / 2
            lines[mark.name] = lines.get(mark.name, 12 + 9 * (len(lines) % 3))
            parts.append(f'<rect x="{left:.1f}" y="0" width="{max(right - left, 2):.1f}" height="{height}" '
                         f'fill="#dfe6f5"><title>{html.escape(mark.name)}</title></rect>'
                         f'<text x="{left:.1f}" y="{lines[mark.name]}" fill="#5a6fa8">{html.escape(mark.name)}</text>')
    for row, name in enumerate(names):
        y = TOP + row * ROW
        parts.append(f'<text x="2" y="{y + 14}">{html.escape(name)}</text>'
                     f'<line x1="{LEFT}" x2="{width}" y1="{y + 10}" y2="{y + 10}" stroke="#eeeeee"/>')
        for turn, each in enumerate(each for each in shown if each.client == name):
            kind = ("failed" if each in failed else "open" if each.is_open else
                    "refused" if each.error else "good")
            left, right = x(each.call_ns), x(each.return_ns or each.effect_ns or end + 1)
            known = json.dumps({"method": each.method, "params": each.params, "answer": each.answer,
                                "call_ns": each.call_ns, "return_ns": each.return_ns}, indent=1)
            parts.append(f'<g><title>{html.escape(known)}</title>'
                         f'<rect x="{left:.1f}" y="{y + 4}" width="{max(right - left, 2):.1f}" height="12" '
                         f'fill="{COLOURS[kind]}" fill-opacity="0.75"/>'
                         f'<text x="{left:.1f}" y="{y + (3 if turn % 2 else 26)}">{html.escape(label(each))}</text></g>')
    parts.append("</svg>")
    rows = "".join(
        f'<tr{" class=failed" if each in failed else ""}><td>{(each.call_ns - begin) / 1e6:.3f}</td>'
        f'<td>{"" if each.return_ns is None else f"{(each.return_ns - begin) / 1e6:.3f}"}</td>'
        f"<td>{html.escape(each.client)}</td><td>{html.escape(label(each))}</td>"
        f"<td>{html.escape(json.dumps(each.params))}</td></tr>" for each in shown)
    return (f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title>"
            "<style>body{font:13px sans-serif}td{font:11px monospace;padding:0 8px}"
            ".failed{background:#f6d5d0}</style>"
            f"<h1>{html.escape(title)}</h1><p>{html.escape(why)}</p>{''.join(parts)}"
            f"<p>{len(shown)} of {len(ordered)} operations; times in ms since the first one shown.</p>"
            f"<table><tr><th>call<th>return<th>client<th>what<th>params</tr>{rows}</table>")
