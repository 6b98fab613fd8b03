"""A Django program with sqlite: a page of orders that asks for each order's customer by itself."""

from __future__ import annotations

import django
from django.conf import settings
from django.db import connection, models

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()


class Customer(models.Model):
    name = models.CharField(max_length=40)

    class Meta:
        app_label = "shop"


class Order(models.Model):
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE)
    amount = models.IntegerField()

    class Meta:
        app_label = "shop"


def fill() -> None:
    """Make the tables: 30 orders, each of another customer."""
    with connection.schema_editor() as editor:
        editor.create_model(Customer)
        editor.create_model(Order)
    customers = Customer.objects.bulk_create(Customer(name=f"customer {n}") for n in range(30))
    Order.objects.bulk_create(Order(customer=one, amount=n) for n, one in enumerate(customers))


def slow_page() -> list[str]:
    """One query for the orders, and one for each customer: N+1."""
    return [f"{order.customer.name}: {order.amount}" for order in Order.objects.all()]


def page() -> list[str]:
    """The same with one query."""
    return [f"{order.customer.name}: {order.amount}" for order in Order.objects.select_related("customer")]


fill()
assert slow_page() == page()
