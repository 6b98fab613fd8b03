// What the views of many calls ask the server: which part, what to leave out, what to put together.

/** Return the question for /api/tree and its like, from the values of the state. */
export function question(page) {
    const {values} = page.state,
        {begin, end} = page.range;
    return {
        trace: page.trace.number,
        begin: Math.round(begin),
        end: Math.round(end),
        lanes: values.only && values.call ? page.laneOfCall() : undefined,
        ...operations(values),
    };
}

/** Return the part of the question that says what to leave out and what to put together. */
export function operations(values) {
    return {
        waiting: values.nowait ? "0" : undefined,
        merge: values.merge ? "recursion" : undefined,
        collapse: values.collapse ? "module" : undefined,
        focus: values.focus || undefined,
        hide: values.hide || undefined,
    };
}

/** Return the nodes of a tree as objects with their children, the heaviest first: {roots, total, nodes}. */
export function treeOf(rows) {
    const nodes = rows.map(([parent, func, calls, total, own, raised], index) => ({
        index,
        parent,
        func,
        calls,
        total,
        own,
        raised,
        children: [],
    }));
    const roots = [];
    for (const node of nodes)
        (node.parent >= 0 && nodes[node.parent] ? nodes[node.parent].children : roots).push(node);
    const heavy = (a, b) => b.total - a.total || a.func - b.func;
    for (const node of nodes) node.children.sort(heavy);
    roots.sort(heavy);
    return {roots, nodes, total: roots.reduce((sum, node) => sum + node.total, 0)};
}
