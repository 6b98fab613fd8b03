"""Probes functions and prints the arguments and the result of each call together."""

from __future__ import annotations

import shop

import funcgraph


def entry(fp, entry_ip, ret_ip, regs, entry_data):
    line = regs.get_argument("line")
    entry_data[0] = line.count(":")
    return "wine" in line  # true: skip the exit handler for this call


def leave(fp, entry_ip, ret_ip, regs, entry_data):
    print(f"{entry_ip.name}: {entry_data[0]} kinds, {regs.get_return_value()}; called in {ret_ip.qualname}")


def session(ctx):
    if not ctx.is_return:
        ctx.session_cookie = ctx.regs.get_argument(0) == "cake"
    elif ctx.session_cookie:
        print(f"{ctx.func.qualname}: cake for {ctx.regs.get_return_value()}, not {ctx.cookie}")


def main() -> None:
    fp = funcgraph.Fprobe(entry, leave, entry_data_size=1)
    with funcgraph.registered_fprobe(fp, "shop.serve"):
        shop.run()
    with funcgraph.kprobe_multi(session, ["shop.price_of"], cookies=[10], kind="session"):
        shop.run()
    try:
        funcgraph.register_fprobe_syms(fp, ["shop.serve", "shop.refunds"])
    except OSError as error:
        print(error)


if __name__ == "__main__":
    main()
