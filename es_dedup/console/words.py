"""What the console says, in English and Chinese."""

from __future__ import annotations

from typing import Final

LANGUAGES: Final = ("en", "zh")
_CHINESE: Final = {
    "Overview": "概览",
    "Clusters": "重复簇",
    "Search": "搜索",
    "Search stored pages": "搜索已存页面",
    "Sign in": "登录",
    "Sign out": "退出",
    "Token": "令牌",
    "The token for reading or for writing, from the file that serve.token_file names.": "读取或写入令牌，见 serve.token_file 所指的文件。",
    "This token is not known.": "令牌无效。",
    "Skip to content": "跳到正文",
    "Keys": "快捷键",
    "next, previous row": "下一行、上一行",
    "open the row": "打开该行",
    "search": "搜索",
    "next page of a list": "列表下一页",
    "these keys": "显示快捷键",
    "Close": "关闭",
    "pages": "页面",
    "clusters": "重复簇",
    "duplicates": "重复页面",
    "unique pages": "无重复页面",
    "largest cluster": "最大的簇",
    "in the index": "索引中",
    "of two pages or more": "两页及以上",
    "of all pages": "占全部页面",
    "About this index": "关于此索引",
    "Fact": "项目",
    "Value": "值",
    "Pages": "页数",
    "Canonical document": "代表页",
    "Site": "站点",
    "Published": "发布日期",
    "Shared of it": "代表页被覆盖",
    "Shared of the others": "其他页被覆盖",
    "Next": "下一页",
    "No cluster of this size.": "没有这样大小的簇。",
    "At least so many pages": "至少页数",
    "Show": "显示",
    "Cluster": "簇",
    "Page": "页面",
    "Id": "标识",
    "Relation": "关系",
    "Shared of the canonical document": "代表页被覆盖",
    "Shared of this page": "本页被覆盖",
    "Compare": "对比",
    "canonical": "代表页",
    "Stands inside": "包含于",
    "Members by date": "按日期排列的成员",
    "Two pages compared": "两页对比",
    "characters": "字符",
    "The text is not kept.": "未保存正文。",
    "Features": "特征",
    "Feature": "特征",
    "Candidates": "候选页",
    "Pages that share search terms with this one, and what was decided of each.": "与本页共享检索词的页面，以及对每一页的判定。",
    "No other page shares enough search terms.": "没有其他页面共享足够的检索词。",
    "Decision": "判定",
    "hits": "条结果",
    "No page has these words.": "没有页面包含这些词。",
    "further pages of the cluster": "簇内其他页面",
    "Overrides": "人工判定",
    "Never in one cluster": "永不同簇",
    "Always in one cluster": "总在同簇",
    "Make canonical": "设为代表页",
    "Nothing was decided by people yet.": "尚无人工判定。",
    "Reason": "理由",
    "Name": "姓名",
    "Time": "时间",
    "Undo": "撤销",
    "Undone": "已撤销",
    "Not found": "未找到",
    "Something went wrong": "出错了",
}


def words(language: str, text: str) -> str:
    """A text of the console in a language; English where there is no other."""
    return _CHINESE.get(text, text) if language == "zh" else text


def chosen(accepted: str) -> str:
    """The language of the console for a header ``Accept-Language``: the first that is known, else English."""
    for part in accepted.split(","):
        language = part.partition(";")[0].strip().lower().partition("-")[0]
        if language in LANGUAGES:
            return language
    return "en"
