<?php
// Installs WordPress and fills it from JSON on standard input; prints the address of each article by its slug.
define('WP_INSTALLING', true);
require getenv('RENDER_ROOT') . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
$given = json_decode(stream_get_contents(STDIN), true);
wp_install($given['title'], $given['owner'], 'a@example.org', true, '', 'none', $given['locale']);
update_option('WPLANG', $given['locale']);
update_option('blogdescription', $given['tagline']);
global $wp_rewrite;
$wp_rewrite->set_permalink_structure($given['permalinks']);
update_option('thread_comments', 1);
update_option('comment_order', $given['comment_order']);
update_option('page_comments', 0);
update_option('show_avatars', $given['avatars']);
wp_delete_post(1, true);
switch_theme($given['theme']);
$users = [];
$terms = [];
foreach ($given['documents'] as $document) {
    $author = $document['author'];
    if (!isset($users[$author])) {
        $users[$author] = wp_insert_user(['user_login' => 'u' . count($users), 'user_pass' => 'none', 'display_name' => $author,
            'description' => $given['notices'][1], 'role' => 'author']);
    }
    $category = $document['category'];
    $terms[$category] = $terms[$category] ?? wp_insert_term($category, 'category', ['slug' => 'c' . count($terms)])['term_id'];
    $date = date('Y-m-d H:i:s', strtotime($document['date']));
    $id = wp_insert_post(['post_title' => $document['title'], 'post_name' => $document['slug'], 'post_content' => $document['body'],
        'post_status' => 'publish', 'post_author' => $users[$author], 'post_date' => $date, 'post_category' => [$terms[$category]],
        'tags_input' => $document['tags'], 'comment_status' => 'open']);
    $made = [];
    foreach ($document['posts'] as $at => $post) {
        $parent = $post['parent'] > 0 && $post['parent'] < $at ? $made[$post['parent']] : 0;
        $made[$at] = wp_insert_comment(['comment_post_ID' => $id, 'comment_author' => $post['author'], 'comment_content' => $post['body'],
            'comment_date' => date('Y-m-d H:i:s', strtotime($post['date'])), 'comment_parent' => $parent, 'comment_approved' => 1]);
    }
    $ids[$document['slug']] = $id;
}
$menu = wp_create_nav_menu('main');
foreach ($given['sections'] as $name) {
    wp_update_nav_menu_item($menu, 0, ['menu-item-title' => $name, 'menu-item-url' => home_url('/x/'), 'menu-item-status' => 'publish']);
}
set_theme_mod('nav_menu_locations', ['primary' => $menu, 'footer' => $menu]);
$sidebar = [];
foreach ($given['widgets'] as $widget) {
    update_option("widget_$widget", [2 => ['title' => '', 'text' => $given['notices'][2], 'number' => 5], '_multiwidget' => 1]);
    $sidebar[] = "$widget-2";
}
update_option('sidebars_widgets', ['wp_inactive_widgets' => [], 'sidebar-1' => $sidebar, 'array_version' => 3]);
flush_rewrite_rules();
$paths = [];
foreach ($ids as $slug => $id) {
    $paths[$slug] = substr(get_permalink($id), strlen(home_url()));
}
echo "\n" . json_encode($paths) . "\n";
