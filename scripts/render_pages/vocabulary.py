"""Words that sites of all kinds share: names of sections, and short replies; the rest of the texts comes from the corpus."""

from __future__ import annotations

from typing import Final

SECTIONS: Final = {
    "zh": "新闻 科技 生活 随笔 教程 财经 体育 娱乐 汽车 数码 旅游 摄影 读书 友情链接 留言板 关于我们 联系我们 专题 下载 论坛",
    "zh-hant": "新聞 科技 生活 隨筆 教學 財經 體育 娛樂 汽車 數位 旅遊 攝影 讀書 友站連結 留言板 關於我們 聯絡我們 專題 下載 論壇",
    "en": "News Technology Life Notes Tutorials Business Sports Culture Cars Travel Photos Books Links Guestbook About Contact Archive Downloads Forum",
    "ja": "ニュース 技術 生活 日記 入門 経済 スポーツ 文化 旅行 写真 読書 リンク 掲示板 会社概要 お問い合わせ 特集 ダウンロード フォーラム",
    "de": "Nachrichten Technik Leben Notizen Anleitungen Wirtschaft Sport Kultur Reisen Fotos Bücher Links Gästebuch Impressum Kontakt Archiv Forum",
    "fr": "Actualités Technique Vie Notes Tutoriels Économie Sport Culture Voyages Photos Livres Liens Contact Archives Forum Mentions",
    "ru": "Новости Техника Жизнь Заметки Уроки Экономика Спорт Культура Путешествия Фото Книги Ссылки Контакты Архив Форум",
}
REPLIES: Final = {
    "zh": "顶|支持楼主|谢谢分享|沙发|路过看看|同意楼上|学习了|请问解决了吗|已收藏，感谢|不明觉厉|这个方法我试过，可以用|楼主好人|好文章，转走了|坐等更新",
    "zh-hant": "推|支持樓主|謝謝分享|頭香|路過看看|同意樓上|學到了|請問解決了嗎|已收藏，感謝|這個方法我試過，可以用|好文章，借轉|坐等更新",
    "en": "Thanks!|+1|Same here.|Any update on this?|Works for me, thank you.|I agree.|Great post|Bump|Could you post the log?|Solved, thanks everyone",
    "ja": "ありがとうございます|同じです|解決しました|参考になりました|なるほど|私も同じ症状です|続きが気になります",
    "de": "Danke!|Bei mir auch.|Gibt es etwas Neues?|Hat geklappt, vielen Dank|Stimme zu|Gute Frage",
    "fr": "Merci !|Pareil ici.|Des nouvelles ?|Ça marche, merci beaucoup|Je suis d'accord|Bonne question",
    "ru": "Спасибо!|Аналогично.|Есть новости?|Помогло, большое спасибо|Согласен|Хороший вопрос",
}


def sections(language: str) -> list[str]:
    """Names of sections in a language."""
    return SECTIONS[language].split()


def replies(language: str) -> list[str]:
    """Short replies in a language."""
    return REPLIES[language].split("|")
