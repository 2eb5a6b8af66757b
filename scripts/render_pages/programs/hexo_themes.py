"""Themes of Hexo: their packages and what of their configuration varies from site to site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.render_pages.model import Site


@dataclass(frozen=True, slots=True)
class Theme:
    """A theme.

    Attributes:
        licence: of the theme, by its package.
        packages: with versions.
        config: what is written to ``_config.<theme>.yml``.
    """

    licence: str
    packages: tuple[str, ...]
    config: Callable[[Site], dict[str, Any]]


def _menu(site: Site) -> dict[str, str]:
    return {"home": "/", "archives": "/archives/"} | dict.fromkeys(site.some(0, 6), "/about/")


def _links(site: Site) -> dict[str, str]:
    return {name: f"https://{at}.example.org/" for at, name in enumerate(site.some(1, 12))}


def _next(site: Site) -> dict[str, Any]:
    return {
        "scheme": site.rng.choice(("Muse", "Mist", "Pisces", "Gemini")),
        "menu": {name: f"{path} || fa fa-home" for name, path in _menu(site).items()},
        "menu_settings": {"icons": site.chance(0.5), "badges": site.chance(0.5)},
        "sidebar": {"position": site.rng.choice(("left", "right"))},
        "toc": {"enable": site.chance(0.7), "number": site.chance(0.5)},
        "social": {"GitHub": "https://github.example.org || fab fa-github"} if site.chance(0.5) else {},
        "links": _links(site) if site.chance(0.5) else {},
        "links_settings": {"title": site.phrases[3], "layout": site.rng.choice(("block", "inline"))},
        "creative_commons": {"license": "by-nc-sa", "sidebar": site.chance(0.3), "post": site.chance(0.6)},
        "reward_settings": {"enable": site.chance(0.4), "comment": site.phrasing[2]},
        "reward": {"wechatpay": "/images/wechatpay.png", "alipay": "/images/alipay.png"},
        "follow_me": {"WeChat": "/images/wechat.jpg || fab fa-weixin"} if site.chance(0.3) else {},
        "related_posts": {"enable": site.chance(0.5), "title": ""},
        "post_meta": {"item_text": site.chance(0.7), "updated_at": {"enable": site.chance(0.5)}},
        "post_navigation": site.rng.choice(("left", "right", False)),
        "read_more_btn": True,
        "tag_icon": site.chance(0.5),
        "footer": {"since": 2012, "beian": {"enable": site.chance(0.4), "icp": "京ICP备 00000000号-1"}},
        "codeblock": {"copy_button": {"enable": site.chance(0.5)}},
        "back2top": {"enable": True, "sidebar": site.chance(0.5)},
        "busuanzi_count": {"enable": site.chance(0.4)},
        "local_search": {"enable": site.chance(0.4)},
        "disqus": {"enable": site.chance(0.3), "shortname": "example"},
        "github_banner": {"enable": site.chance(0.2), "permalink": "https://github.example.org"},
        "reading_progress": {"enable": site.chance(0.2)},
    }


def _fluid(site: Site) -> dict[str, Any]:
    menu = [
        {"key": name, "link": path, "icon": "iconfont icon-home-fill"} for name, path in _menu(site).items()
    ]
    return {
        "navbar": {"blog_title": site.title, "menu": menu},
        "footer": {
            "statistics": {"enable": site.chance(0.4)},
            "beian": {"enable": site.chance(0.4), "icp_text": "京ICP证123456号"},
        },
        "post": {
            "meta": {
                "author": {"enable": site.chance(0.4)},
                "wordcount": {"enable": site.chance(0.5)},
                "min2read": {"enable": site.chance(0.5)},
                "views": {"enable": site.chance(0.3)},
            },
            "updated": {"enable": site.chance(0.3), "note_class": "info"},
            "sidebar": {"category": {"enable": site.chance(0.5)}},
            "toc": {"enable": site.chance(0.7)},
            "copyright": {"enable": site.chance(0.7)},
            "prev_next": {"enable": site.chance(0.8)},
            "custom": {"enable": site.chance(0.4), "content": site.phrasing[3]},
            "comments": {"enable": site.chance(0.3), "type": "disqus"},
        },
        "index": {"slogan": {"enable": True, "text": site.tagline}},
        "fun_features": {"typing": {"enable": site.chance(0.5)}},
        "lazyload": {"enable": site.chance(0.5)},
    }


def _butterfly(site: Site) -> dict[str, Any]:
    return {
        "menu": {name: f"{path} || fas fa-home" for name, path in _menu(site).items()},
        "code_blocks": {"copy": site.chance(0.5), "language": site.chance(0.5), "shrink": False},
        "post_meta": {"post": {"date_type": site.rng.choice(("created", "both")), "label": site.chance(0.5)}},
        "toc": {"post": site.chance(0.7), "number": site.chance(0.5)},
        "post_copyright": {"enable": site.chance(0.7)},
        "reward": {
            "enable": site.chance(0.5),
            "text": site.phrases[1],
            "QR_code": [{"img": "/img/wechat.jpg", "text": "wechat"}],
        },
        "post_edit": {"enable": site.chance(0.2), "url": "https://github.example.org/edit/"},
        "related_post": {"enable": site.chance(0.7), "limit": site.rng.randint(3, 6)},
        "post_pagination": site.rng.choice((1, 2, False)),
        "noticeOutdate": {"enable": site.chance(0.4)},
        "footer": {"custom_text": site.phrasing[4] if site.chance(0.5) else None},
        "aside": {
            "enable": site.chance(0.85),
            "position": site.rng.choice(("left", "right")),
            "card_announcement": {"enable": site.chance(0.6), "content": site.phrasing[5]},
            "card_recent_post": {"enable": site.chance(0.7)},
            "card_categories": {"enable": site.chance(0.6)},
            "card_tags": {"enable": site.chance(0.6)},
            "card_archives": {"enable": site.chance(0.6)},
            "card_webinfo": {"enable": site.chance(0.6)},
        },
        "wordcount": {"enable": False},
        "comments": {"use": "Disqus", "text": True, "count": False} if site.chance(0.4) else {},
        "disqus": {"shortname": "example"},
        "share": {"use": "sharejs"} if site.chance(0.6) else {"use": None},
        "subtitle": {"enable": site.chance(0.5), "sub": [site.tagline]},
        "translate": {"enable": site.chance(0.4)},
        "ad": {"post": f"<p>{site.phrasing[6]}</p>" if site.chance(0.4) else None},
        "darkmode": {"enable": site.chance(0.6)},
        "lazyload": {"enable": site.chance(0.3), "native": False},
    }


def _landscape(site: Site) -> dict[str, Any]:
    widgets = ["category", "tag", "tagcloud", "archive", "recent_posts"]
    return {
        "menu": _menu(site),
        "widgets": site.rng.sample(widgets, site.rng.randint(1, 5)),
        "sidebar": site.rng.choice(("left", "right", "bottom")),
        "show_count": site.chance(0.5),
        "excerpt_link": site.phrases[2],
        "subtitle": site.tagline if site.chance(0.5) else None,
        "disqus_shortname": "example" if site.chance(0.3) else None,
    }


def _stellar(site: Site) -> dict[str, Any]:
    left = site.rng.choice(("related, recent", "welcome, recent", "recent"))
    items = [
        {"id": name, "title": name, "url": path, "icon": "", "theme": "#1BCDFC"}
        for name, path in _menu(site).items()
    ]
    return {
        "menubar": {"items": items},
        "site_tree": {
            "post": {
                "menu_id": "post",
                "leftbar": left,
                "rightbar": site.rng.choice(("toc", "ghrepo, toc", "")),
            }
        },
        "article": {
            "type": site.rng.choice(("tech", "story")),
            "share": ["wechat", "weibo", "email", "link"] if site.chance(0.5) else [],
            "reading_time": site.chance(0.4),
        },
        "footer": {"social": {}, "content": site.phrasing[4] if site.chance(0.5) else None},
    }


def _volantis(site: Site) -> dict[str, Any]:
    menu = [{"name": name, "icon": "fas fa-rss", "url": path} for name, path in _menu(site).items()]
    widgets = ["blogger", "category", "tagcloud", "grid", "list", "recent_posts", "webinfo"]
    return {
        "navbar": {"visiable": "auto", "logo": {"title": site.title}, "menu": menu},
        "sidebar": {
            "position": site.rng.choice(("left", "right")),
            "for_page": site.rng.sample(widgets, 3),
            "for_post": ["toc", *site.rng.sample(widgets, site.rng.randint(1, 4))],
        },
        "comments": {"title": site.phrases[4], "subtitle": site.phrasing[2]},
    }


def _redefine(site: Site) -> dict[str, Any]:
    return {
        "info": {
            "title": site.title,
            "subtitle": site.tagline,
            "author": site.owner,
            "url": f"https://{site.host}",
        },
        "navbar": {
            "links": {name: {"path": path} for name, path in _menu(site).items()},
            "search": {"enable": site.chance(0.5)},
        },
        "home": {"sidebar": {"enable": True, "announcement": site.phrasing[5] if site.chance(0.5) else None}},
        "articles": {
            "word_count": {"enable": False},
            "author_label": {"enable": site.chance(0.5), "auto": False, "list": site.some(2, 4)},
            "copyright": {"enable": site.chance(0.6), "default": "cc_by_nc_sa"},
            "toc": {"enable": site.chance(0.6), "number": site.chance(0.5)},
            "recommendation": {"enable": site.chance(0.3), "title": site.phrases[6], "limit": 3},
            "code_block": {"copy": site.chance(0.5)},
        },
        "footer": {
            "runtime": site.chance(0.5),
            "statistics": site.chance(0.5),
            "customize": site.phrasing[4],
        },
    }


def _icarus(site: Site) -> dict[str, Any]:
    kinds = ("profile", "toc", "recent_posts", "categories", "tags", "archives", "links")
    widgets: list[dict[str, Any]] = []
    for kind in kinds:
        if site.chance(0.7):
            widget: dict[str, Any] = {"type": kind, "position": site.rng.choice(("left", "right"))}
            if kind == "profile":
                widget |= {"author": site.owner, "author_title": site.phrases[7], "location": site.phrases[8]}
            if kind == "links":
                widget["links"] = _links(site)
            widgets.append(widget)
    donates = [
        {"type": "wechat", "qrcode": "/img/wechat.png"},
        {"type": "alipay", "qrcode": "/img/alipay.png"},
    ]
    licenses = {
        "Creative Commons": {"icon": "fab fa-creative-commons", "url": "https://creativecommons.org/"}
    }
    return {
        "version": "5.1.0",
        "variant": site.rng.choice(("default", "cyberpunk")),
        "logo": {"text": site.title},
        "head": {"favicon": "/img/favicon.svg"},
        "navbar": {"menu": _menu(site), "links": _links(site) if site.chance(0.3) else {}},
        "footer": {"links": _links(site) if site.chance(0.5) else {}},
        "article": {
            "highlight": {"theme": "atom-one-light", "clipboard": site.chance(0.5), "fold": "unfolded"},
            "readtime": site.chance(0.6),
            "update_time": site.chance(0.5),
            "licenses": licenses if site.chance(0.5) else {},
        },
        "donates": donates if site.chance(0.5) else [],
        "share": {"type": "sharejs"} if site.chance(0.4) else None,
        "comment": {"type": "disqus", "shortname": "example"} if site.chance(0.4) else None,
        "widgets": widgets,
        "plugins": {
            "cookie_consent": {"type": site.rng.choice(("info", "opt-in"))} if site.chance(0.5) else None
        },
    }


def _kratos(site: Site) -> dict[str, Any]:
    widgets = ["about", "toc", "category", "tagcloud", "posts"]
    return {
        "check_update": False,
        "nav": {"items": [{"name": name, "icon": "home", "url": path} for name, path in _menu(site).items()]},
        "posts": {
            "donate": site.chance(0.5),
            "share": site.chance(0.5),
            "word_count": {"enable": site.chance(0.6)},
        },
        "sidebar": {
            "location": site.rng.choice(("left", "right")),
            "widgets": site.rng.sample(widgets, site.rng.randint(2, 5)),
        },
        "copyright_notice": {"in_page": {"enable_at": ["post"] if site.chance(0.6) else []}},
        "donate": {"title": site.phrases[9], "message": site.phrasing[7]},
    }


def _keep(site: Site) -> dict[str, Any]:
    return {
        "base_info": {"title": site.title, "author": site.owner},
        "menu": dict(_menu(site).items()),
        "post": {
            "author_badge": {
                "enable": site.chance(0.6),
                "level_badge": site.chance(0.5),
                "custom_badge": site.some(3, 3),
            },
            "copyright_info": site.chance(0.6),
            "share": site.chance(0.5),
            "reward": {
                "enable": site.chance(0.4),
                "img_link": "/images/reward.png",
                "text": site.phrasing[7],
            },
        },
        "code_block": {"tools": {"enable": site.chance(0.5), "style": site.rng.choice(("default", "mac"))}},
        "toc": {
            "enable": site.chance(0.6),
            "number": site.chance(0.5),
            "layout": site.rng.choice(("left", "right")),
        },
        "footer": {
            "since": 2014,
            "record": {"enable": site.chance(0.4), "list": [{"code": "京ICP备00000000号", "link": None}]},
        },
        "first_screen": {"enable": site.chance(0.5), "description": site.tagline},
    }


def _yun(site: Site) -> dict[str, Any]:
    return {
        "pages": [{"name": name, "url": path, "icon": "ri-home-line"} for name, path in _menu(site).items()],
        "say": {"enable": site.chance(0.5)},
        "post_copyright": {"enable": site.chance(0.6)},
        "sponsor": {"enable": site.chance(0.5), "title": site.phrases[5]},
        "wordcount": {"enable": False},
        "notice": {"enable": site.chance(0.4), "content": site.phrasing[5]},
    }


def _anzhiyu(site: Site) -> dict[str, Any]:
    shared = _butterfly(site)
    shared.pop("disqus")
    return {
        key: value
        for key, value in shared.items()
        if key in {"toc", "post_copyright", "noticeOutdate", "aside", "ad"}
    }


THEMES: Final = {
    "next": Theme("AGPL-3.0", ("hexo-theme-next@8.29.0",), _next),
    "butterfly": Theme("Apache-2.0", ("hexo-theme-butterfly@5.7.0", "hexo-renderer-pug@3.0.0"), _butterfly),
    "fluid": Theme("GPL-3.0", ("hexo-theme-fluid@1.9.9",), _fluid),
    "icarus": Theme("MIT", ("hexo-theme-icarus@6.1.1", "hexo-renderer-inferno@1.0.2"), _icarus),
    "landscape": Theme("MIT", ("hexo-theme-landscape@1.1.0",), _landscape),
    "stellar": Theme("MIT", ("hexo-theme-stellar@1.44.0",), _stellar),
    "volantis": Theme("MIT", ("hexo-theme-volantis@6.8.3", "hexo-renderer-less@4.0.0"), _volantis),
    "redefine": Theme("GPL-3.0", ("hexo-theme-redefine@2.9.0",), _redefine),
    "kratos-rebirth": Theme("GPL-3.0", ("hexo-theme-kratos-rebirth@3.0.1",), _kratos),
    "keep": Theme("AGPL-3.0", ("hexo-theme-keep@4.3.0",), _keep),
    "yun": Theme("MIT", ("hexo-theme-yun@1.10.11", "hexo-renderer-pug@3.0.0"), _yun),
    "anzhiyu": Theme("GPL-3.0", ("hexo-theme-anzhiyu@1.7.0", "hexo-renderer-pug@3.0.0"), _anzhiyu),
}
