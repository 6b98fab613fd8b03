"""A shop that looks for the customer who has bought most. With an argument, its database has an index."""

import sqlite3
import sys


def open_shop(has_index):
    shop = sqlite3.connect(":memory:")
    shop.execute("create table orders(customer integer, amount integer)")
    orders = ((number % 100, number) for number in range(20_000))
    shop.executemany("insert into orders values(?, ?)", orders)
    if has_index:
        shop.execute("create index by_customer on orders(customer, amount)")
    return shop


def total_of(shop, customer):
    question = "select sum(amount) from orders where customer = ?"
    return shop.execute(question, (customer,)).fetchone()[0]


def best_customer(shop):
    return max(range(100), key=lambda customer: total_of(shop, customer))


if __name__ == "__main__":
    print("our best customer is", best_customer(open_shop(len(sys.argv) > 1)))
