"""Stands for the kernel's samples/trace_printk: a module with a function that its import runs."""


def trace_printk_irq_work() -> None:
    """Do what the kernel's module does outside of its initialization."""


trace_printk_irq_work()
