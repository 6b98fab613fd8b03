"""Asks the running program of orders.py: who ordered for how much, and what was the order that stopped it?"""

import orders

import funcgraph

charge = funcgraph.Event(
    "orders.charge", group="shop", name="charge", amount="order.amount:s64", who="order.user.name:string"
)
funcgraph.dynamic_events.define(charge)
with funcgraph.Instance("question") as question:
    event = question.events["shop/charge"]
    event.trigger = "hist:keys=who:vals=amount:sort=amount.descending"  # count all hits
    event.filter = 'amount > 1000 || who ~ "b*"'  # record some of them
    event.enable = True
    orders.main()
    print(event.hist, end="")
    print(question.trace(), end="")
funcgraph.dynamic_events.delete("-:shop/charge")
