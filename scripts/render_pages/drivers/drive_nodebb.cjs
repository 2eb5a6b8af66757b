// NodeBB: the theme's templates and the program's languages, filled with topics as its read API gives them.
'use strict';

const fs = require('fs');
const path = require('path');

const given = JSON.parse(fs.readFileSync(0, 'utf8'));
const Benchpress = require(path.join(given.modules, 'benchpressjs'));
const BASE = 'nodebb-theme-persona';
const COLOURS = ['#f44336', '#e91e63', '#9c27b0', '#3f51b5', '#2196f3', '#009688', '#827717', '#ff5722', '#607d8b'];

const folders = [given.theme, BASE].map(name => path.join(given.modules, name, 'templates'));
folders.push(path.join(given.modules, 'nodebb', 'src', 'views'));

let state = given.seed;
function random(below) {
  state = (state * 48271 + 11) % 2147483647;
  return state % below;
}

function source(name) {
  const found = folders.map(folder => path.join(folder, name)).find(place => fs.existsSync(place));
  if (!found) return '';
  return fs.readFileSync(found, 'utf8')
    .replace(/<!-- IMPORT (\S+) -->/g, (_whole, part) => source(part))
    .replace(/(?<!\{)\{([^\s{}]*(?:\.content|\.html|\.signature)|function\.[^{}]*)\}(?!\})/g, '{{$1}}');
}

const spaces = {};
function translate(name, values) {
  const [space, key] = name.split(':');
  if (!key) return name;
  const place = path.join(given.modules, 'nodebb', 'public', 'language', given.language, `${space}.json`);
  spaces[space] = spaces[space] || (fs.existsSync(place) ? JSON.parse(fs.readFileSync(place, 'utf8')) : {});
  const words = key.replace(/^.*[./]/, '').replace(/[-_]/g, ' ');
  const shown = spaces[space][key.replace(/-/g, '_')] || spaces[space][key] || words[0].toUpperCase() + words.slice(1);
  return shown.replace(/%(\d)/g, (_whole, at) => values[at - 1] ?? '');
}

function translateAll(text) {
  return text.replace(/\[\[([a-z]+:[\w.-]+)((?:, ?[^\][]*)?)\]\]/g, (_whole, name, values) =>
    translate(name, values.split(/, ?/).slice(1)));
}

function avatar(user, size, rounded, classes, component) {
  const common = `title="${user.username}" data-uid="${user.uid}" class="avatar ${classes || ''} ${rounded ? 'avatar-rounded' : ''}"` +
    ` component="${component || 'avatar/icon'}"`;
  if (user.picture) return `<img ${common} alt="${user.username}" loading="lazy" src="${user.picture}" style="--avatar-size: ${size};" />`;
  return `<span ${common} style="--avatar-size: ${size}; background-color: ${user['icon:bgColor']}">${user['icon:text']}</span>`;
}

function helpers() {
  const attributes = object => Object.entries(object || {}).map(([key, value]) => `${key}="${value}"`).join(' ');
  const label = (category, tag, classes) =>
    `<${tag || 'a'} component="topic/category" href="/category/${category.slug}" class="badge px-1 text-truncate text-decoration-none ${classes || ''}"` +
    ` style="color: ${category.color};background-color: ${category.bgColor}"> <i class="fa fa-fw ${category.icon}"></i> ${category.name}</${tag || 'a'}>`;
  const all = {
    tx: (name, ...values) => (String(name).startsWith('[[') ? name : translate(String(name), values)),
    txEscape: value => value,
    txDisplayname: user => user.username,
    buildAvatar: avatar,
    humanReadableNumber: value => value,
    formattedNumber: value => value,
    isoTimeToLocaleString: value => value,
    increment: (value, by) => Number(value) + Number(by),
    encodeURIComponent: value => encodeURIComponent(value),
    buildCategoryLabel: label,
    buildCategoryIcon: category => `<span class="icon" style="color: ${category.color}"><i class="fa fa-fw ${category.icon}"></i></span>`,
    renderShortcodeEmoji: value => value,
    greaterthan: (one, other) => Number(one) > Number(other),
    localeToHTML: (_user, fallback) => String(fallback || given.language).replace('_', '-'),
    generateTopicClass: () => '',
    generateCategoryBackground: () => '',
    cacheBustedUrl: value => value,
    buildMetaTag: tag => `<meta ${attributes(tag)} />`,
    buildLinkTag: tag => `<link ${attributes(tag)} />`,
    stripTags: value => String(value).replace(/<[^>]*>/g, ''),
    shouldHideReplyContainer: post => !post.replies || post.replies.count <= 0,
    displayMenuItem: () => true,
    generateWrote: post => `<span class="timeago" title="${post.timestampISO}"></span>`,
    stylesheetLocation: () => '/assets/client.css',
    userAgentIcons: () => '',
    generateChildrenCategories: () => '',
    escape: value => value,
  };
  Object.entries(all).forEach(([name, run]) => Benchpress.registerHelper(name, run));
}

const users = {};
function user(name, signature) {
  if (!users[name]) {
    const uid = Object.keys(users).length + 1;
    users[name] = {
      uid, username: name, displayname: name, fullname: name, userslug: `u${uid}`, slug: `u${uid}`,
      picture: given.pictures && random(2) ? `/assets/uploads/profile/uid-${uid}.png` : '',
      'icon:text': name[0].toUpperCase(), 'icon:bgColor': COLOURS[random(COLOURS.length)],
      reputation: random(900), postcount: random(5000), topiccount: random(100), status: ['online', 'offline', 'away'][random(3)],
      selectedGroups: given.groups && random(4) === 0 ?
        [{ name: given.sections[0], slug: 'g', userTitle: given.sections[0], labelColor: '#000', textColor: '#fff', userTitleEnabled: true }] : [],
      custom_profile_info: [], signature: '',
    };
  }
  return { ...users[name], signature: given.signatures ? signature : '' };
}

function post(thread, at) {
  const { author, date, body, signature, parent } = thread.posts[at];
  const answers = thread.posts.filter(other => other.parent === at && at > 0);
  const votes = random(3) ? 0 : random(40);
  return {
    pid: thread.base + at, tid: thread.tid, index: at, uid: 1, content: body, user: user(author, signature),
    timestamp: Date.parse(date), timestampISO: date, relativeTime: date, editedISO: '', edited: 0, editor: null,
    votes, upvotes: votes, downvotes: 0, reputation: votes, deleted: false, attachments: [], events: [],
    toPid: parent > 0 ? thread.base + parent : null,
    parent: parent > 0 ? {
      pid: thread.base + parent, username: thread.posts[parent].author, user: user(thread.posts[parent].author), content: '',
      timestampISO: thread.posts[parent].date,
    } : null,
    replies: {
      count: answers.length, hasMore: answers.length > 5, text: answers.length === 1 ? '[[topic:one_reply_to_this_post]]' :
        `[[topic:replies_to_this_post, ${answers.length}]]`,
      users: answers.slice(0, 5).map(answer => user(answer.author)), timestampISO: date, hasSingleImmediateReply: false,
    },
    display_edit_tools: false, display_delete_tools: false, display_moderator_tools: false, display_move_tools: false,
    display_post_menu: true, selfPost: false, topicOwnerPost: author === thread.author, bookmarked: false, upvoted: false, downvoted: false,
  };
}

function pages(count, current) {
  const item = page => ({ page, active: page === current, qs: `page=${page}` });
  const turn = (page, active) => ({ page, active, qs: `page=${page}` });
  return {
    pages: Array.from({ length: count }, (_none, at) => item(at + 1)), pageCount: count, currentPage: current, rel: [],
    prev: turn(Math.max(1, current - 1), current > 1), next: turn(Math.min(count, current + 1), current < count),
    first: turn(1, current === 1), last: turn(count, current === count),
  };
}

const widget = html => ({ html });
const card = (title, text) =>
  widget(`<div class="card"><h5 class="card-header">${title}</h5><div class="card-body"><p>${text}</p></div></div>`);
const links = names => widget(`<div class="categories-list"><ul>${names.map(name => `<li><a href="/category/1">${name}</a></li>`).join('')}</ul></div>`);

function site() {
  const widgets = { header: [], footer: [], sidebar: [], 'brand-header': [], 'mainpost-header': [], 'mainpost-footer': [] };
  if (given.sidebar) widgets.sidebar = [links(given.sections), card(given.sections[0], given.notices[0])];
  if (given.banner) widgets.header = [card(given.title, given.notices[1])];
  if (given.footer) widgets.footer = [widget(`<footer id="footer" class="container footer">${given.notices[2]}</footer>`)];
  const navigation = given.sections.map((name, at) => ({
    id: '', route: `/n${at}`, title: name, text: name, textClass: 'visible-xs-inline', iconClass: 'fa-list', class: '', enabled: true, properties: {},
    dropdown: false, dropdownContent: '',
  }));
  const viewer = given.member ? user(given.owner) : { ...user(given.owner), uid: 0, username: translate('global:guest', []) };
  const config = {
    relative_path: '', loggedIn: given.member, usePagination: given.pagination, enableQuickReply: given.member && given.quick,
    userLang: given.language, topicPostSort: 'oldest_to_newest', 'cache-buster': 'v1', showSiteTitle: true, theme: given.options, bootswatchSkin: '',
    siteTitle: given.title, searchEnabled: true, allowGuestHandles: false, disableChat: false, hideSubCategories: false, defaultLang: given.language,
  };
  return {
    config, widgets, navigation, relative_path: '', url: given.host, loggedIn: given.member, user: viewer, loggedInUser: viewer, title: given.title, 'site:title': given.title,
    'brand:logo': '', 'brand:logo:display': 'hide', brand: given.title, showSiteTitle: true, defaultLang: given.language, userLang: given.language,
    languageDirection: 'ltr', bodyClass: 'page-topic', configJSON: '{}', userJSON: '{}', linkTags: [], metaTags: [{ name: 'description', content: given.tagline }],
    allowRegistration: true, searchEnabled: true, isAdmin: false, isMod: false, scripts: [], template: { name: 'topic', topic: true }, copyright: given.notices[3],
    notifications: [], unreadCount: {}, 'feeds:disableRSS': !given.feeds, rssFeedUrl: '/topic/1.rss', 'reputation:disabled': !given.votes,
    'downvote:disabled': given.no_down, 'privileges': { 'topics:reply': given.member, 'topics:read': true },
  };
}

async function main() {
  helpers();
  const templates = {};
  for (const name of ['header', 'topic', 'footer']) {
    const code = await Benchpress.precompile(source(`${name}.tpl`), { filename: name });
    const holder = { exports: {} };
    new Function('module', code)(holder); // eslint-disable-line no-new-func
    templates[name] = holder.exports;
    Benchpress.cache[name] = holder.exports;
  }
  const common = site();
  for (const [number, thread] of given.documents.entries()) {
    Object.assign(thread, { tid: number * 7 + 3, base: number * 200 + 11 });
    const size = given.per_page;
    const last = Math.floor((thread.posts.length - 1) / size);
    for (const at of new Set([0, random(last + 1)])) {
      const shown = Array.from({ length: Math.min(size, thread.posts.length - at * size) }, (_none, each) => at * size + each);
      const place = `/topic/${thread.tid}/${thread.slug}${at ? `?page=${at + 1}` : ''}`;
      const category = {
        cid: number % given.sections.length + 1, name: thread.category, slug: 'c', icon: 'fa-comments', color: '#fff', bgColor: COLOURS[number % 9],
      };
      const data = {
        ...common, ...pages(last + 1, at + 1), pagination: pages(last + 1, at + 1), tid: thread.tid, cid: category.cid, slug: `${thread.tid}/${thread.slug}`,
        title: thread.title, titleRaw: thread.title, browserTitle: `${thread.title} | ${given.title}`, category, url: place,
        posts: shown.map(each => post(thread, each)), postcount: thread.posts.length, viewcount: random(9000), postercount: 3, thumbs: [], icons: [], events: [],
        tags: thread.tags.map(tag => ({ value: tag, valueEscaped: tag, valueEncoded: tag, class: 't' })), author: user(thread.author), pinned: number % 9 === 0,
        locked: number % 11 === 5, deleted: false, scheduled: false, timestampISO: thread.date, lastposttimeISO: thread.date, hideReplies: given.hide_replies,
        breadcrumbs: [{ text: given.title, url: '/' }, { text: thread.category, url: '/category/1' }, { text: thread.title }],
        related: [], showTopicTools: false, bookmarkThreshold: 5, topicStaleDays: 60, privileges: common.privileges,
      };
      const parts = [];
      for (const name of ['header', 'topic', 'footer']) parts.push(await Benchpress.render(name, data));
      console.log(JSON.stringify({ slug: thread.slug, path: place, html: translateAll(parts.join('\n')), shown }));
    }
  }
}

main();
