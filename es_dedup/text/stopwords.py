"""Function words that say nothing of what a page is about; simplified and in lower case, as normalised text is."""

from __future__ import annotations

from typing import Final

_ZH: Final = """
的 了 着 过 地 得 之 者 所 是 在 有 和 与 及 或 而 且 但 并 就 都 也 还 又 再 才 只 很 太 更 最 不 没 没有 未 非 无 被 把 将 对 对于 关于
从 自 由 到 至 于 向 往 以 为 为了 因 因为 所以 因此 由于 如果 若 虽然 但是 然而 而且 并且 或者 还是 不过 只是 只有 只要 即 即使 既 则
这 那 这个 那个 这些 那些 这样 那样 这里 那里 这种 此 该 其 其中 其他 其它 某 各 每 本 我 你 您 他 她 它 我们 你们 他们 她们 它们 自己
什么 怎么 怎样 如何 哪 哪里 谁 何 几 多少 吗 呢 吧 啊 呀 嘛 哦 等 等等 一 一个 一些 一种 一样 两 个 种 们 上 下 中 里 内 外 前 后 时
说 要 会 能 能够 可 可以 可能 应 应该 必须 需要 想 去 来 让 使 使得 给 跟 同 比 按 按照 根据 通过 随着 以及 以上 以下 之后 之前 之间 已
已经 正在 正 曾 曾经 便 却 则 那么 这么 多 少 大家 就是 不是 也是 都是 还有 更加 非常 十分 比较 如 例如 比如 像 好像 似乎 当 当时 与其
"""
_EN: Final = """
a an the and or but nor so yet if then else than that this these those there here as at by for from in into of off on onto out over
to up down with without within about above after again against all also always am any are be because been before being below between
both can cannot could did do does doing done during each either ever every few had has have having he her hers herself him himself his
how however i is it its itself just least less let like may me might more most much must my myself neither never no not now only other
our ours ourselves own per perhaps rather said same say says shall she should since some such their theirs them themselves they those
through thus too toward towards under until upon us very was we were what when where whether which while who whom whose why will would
you your yours yourself yourselves s t d ll m re ve don didn doesn isn wasn weren won wouldn couldn shouldn hasn haven hadn
"""

STOP_WORDS: Final = frozenset((_ZH + _EN).split())
"""Words left out before anything is counted; data, open to additions."""

STOP_CHARACTERS: Final = frozenset(word for word in _ZH.split() if len(word) == 1)
"""Those of one Chinese character."""
