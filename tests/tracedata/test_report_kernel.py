"""The layout is the kernel's, byte for byte: text that a Linux kernel printed, and ours for the same calls.

The texts were captured from a running 7.2 kernel (losses: put together from several places of one capture).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from funcgraph.tracedata import TraceFile, parse_options
from tracedata.kernel_text import Replay

# what it shows, our options, the kernel's text
CAPTURES = [
    (
        "the default options",
        "funcgraph-cpu",
        """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0) ! 522.190 us  |  mutex_unlock();
 0)               |  do_sys_openat2() {
 0)               |    getname_flags() {
 0)               |      do_getname.constprop.0() {
 0)               |        kmem_cache_alloc_noprof() {
 0)   2.173 us    |          preempt_count_add();
 0)   1.282 us    |          preempt_count_sub();
 0) + 10.586 us   |        }
 0) + 13.610 us   |      }
 0) + 16.034 us   |    }
 0)               |    get_unused_fd_flags() {
 0)               |      alloc_fd() {
 0)               |        _raw_spin_lock() {
 0)   0.771 us    |          preempt_count_add();
 0)   2.945 us    |        }
 0)               |        _raw_spin_unlock() {
 0)   0.941 us    |          preempt_count_sub();
""",
    ),
    (
        "funcgraph-abstime",
        "funcgraph-cpu funcgraph-abstime",
        """\
# tracer: function_graph
#
#     TIME        CPU  DURATION                  FUNCTION CALLS
#      |          |     |   |                     |   |   |   |
    5.473396 |   0) + 11.487 us   |  mutex_unlock();
    5.480101 |   0)               |  do_sys_openat2() {
    5.480106 |   0)               |    getname_flags() {
    5.480107 |   0)               |      do_getname.constprop.0() {
    5.480108 |   0)               |        kmem_cache_alloc_noprof() {
    5.480109 |   0)   1.833 us    |          preempt_count_add();
    5.480114 |   0)   1.392 us    |          preempt_count_sub();
    5.480116 |   0)   8.082 us    |        }
    5.480118 |   0) + 11.007 us   |      }
    5.480119 |   0) + 13.210 us   |    }
    5.480120 |   0)               |    get_unused_fd_flags() {
    5.480148 |   0)               |        irq_enter_rcu() {
""",
    ),
    (
        "nofuncgraph-cpu",
        "",
        """\
# tracer: function_graph
#
#  DURATION                  FUNCTION CALLS
#   |   |                     |   |   |   |
+ 11.296 us   |  mutex_unlock();
              |  do_sys_openat2() {
              |    getname_flags() {
              |      do_getname.constprop.0() {
              |        kmem_cache_alloc_noprof() {
  1.993 us    |          preempt_count_add();
  1.422 us    |          preempt_count_sub();
  8.343 us    |        }
+ 11.667 us   |      }
+ 13.840 us   |    }
              |    get_unused_fd_flags() {
              |      alloc_fd() {
""",
    ),
    (
        "nofuncgraph-duration",
        "funcgraph-cpu nofuncgraph-duration",
        """\
# tracer: function_graph
#
# CPU               FUNCTION CALLS
# |                 |   |   |   |
 0) mutex_unlock();
 0) do_sys_openat2() {
 0)   getname_flags() {
 0)     do_getname.constprop.0() {
 0)       kmem_cache_alloc_noprof() {
 0)         preempt_count_add();
 0)         preempt_count_sub();
 0)       }
 0)     }
 0)   }
 0)   get_unused_fd_flags() {
 0)     alloc_fd() {
""",
    ),
    (
        "nofuncgraph-overhead",
        "funcgraph-cpu nofuncgraph-overhead",
        """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0)   12.007 us   |  mutex_unlock();
 0)               |  do_sys_openat2() {
 0)               |    getname_flags() {
 0)               |      do_getname.constprop.0() {
 0)               |        kmem_cache_alloc_noprof() {
 0)   1.842 us    |          preempt_count_add();
 0)   1.031 us    |          preempt_count_sub();
 0)   8.082 us    |        }
 0)   11.507 us   |      }
 0)   13.881 us   |    }
 0)               |    get_unused_fd_flags() {
 0)               |      alloc_fd() {
""",
    ),
    (
        "funcgraph-proc",
        "funcgraph-cpu funcgraph-proc",
        """\
# tracer: function_graph
#
# CPU  TASK/PID         DURATION                  FUNCTION CALLS
# |     |    |           |   |                     |   |   |   |
 0)    work-69     | + 12.379 us   |  mutex_unlock();
 0)    work-69     |               |  do_sys_openat2() {
 0)    work-69     |               |    getname_flags() {
 0)    work-69     |               |      do_getname.constprop.0() {
 0)    work-69     |               |        kmem_cache_alloc_noprof() {
 0)    work-69     |   2.133 us    |          preempt_count_add();
 0)    work-69     |   1.422 us    |          preempt_count_sub();
 0)    work-69     | + 10.235 us   |        }
 0)    work-69     | + 12.969 us   |      }
 0)    work-69     | + 15.163 us   |    }
 0)    work-69     |               |    get_unused_fd_flags() {
 0)    work-69     |               |      alloc_fd() {
""",
    ),
    (
        "funcgraph-tail",
        "funcgraph-cpu funcgraph-tail",
        """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0) + 11.257 us   |  mutex_unlock();
 0)               |  do_sys_openat2() {
 0)               |    getname_flags() {
 0)               |      do_getname.constprop.0() {
 0)               |        kmem_cache_alloc_noprof() {
 0)   1.853 us    |          preempt_count_add();
 0)   1.453 us    |          preempt_count_sub();
 0)   8.593 us    |        } /* kmem_cache_alloc_noprof */
 0) + 11.437 us   |      } /* do_getname.constprop.0 */
 0) + 13.590 us   |    } /* getname_flags */
 0)               |    get_unused_fd_flags() {
 0)               |      alloc_fd() {
""",
    ),
    (
        "funcgraph-overrun",
        "funcgraph-cpu funcgraph-overrun",
        """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0) + 11.897 us   |  mutex_unlock();
 0)               |  do_sys_openat2() {
 0)               |    getname_flags() {
 0)               |      do_getname.constprop.0() {
 0)               |        kmem_cache_alloc_noprof() {
 0)   2.414 us    |          preempt_count_add();
 0)   1.413 us    |          preempt_count_sub();
 0)   9.344 us    |        }
 (Overruns: 0)
 0) + 12.479 us   |      }
 (Overruns: 0)
 0) + 14.762 us   |    }
 (Overruns: 0)
 0)               |    get_unused_fd_flags() {
""",
    ),
    (
        "two CPUs and a task switch",
        "funcgraph-cpu nofuncgraph-proc",
        """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 1)               |  vfs_fstatat() {
 1)               |    vfs_fstat() {
 1)   1.132 us    |      vfs_getattr_nosec();
 1)   3.325 us    |    }
 1)   5.709 us    |  }
 1)   2.103 us    |  vfs_open();
 1)   3.706 us    |  vfs_write();
 1)   1.833 us    |  vfs_read();
 1)               |  vfs_fstatat() {
 1)               |    vfs_fstat() {
 1)   1.102 us    |      vfs_getattr_nosec();
 1)   3.005 us    |    }
 1)   5.298 us    |  }
 ------------------------------------------
 1)    work-213    =>    work-215  \x20
 ------------------------------------------

 1)               |  vfs_fstatat() {
 1)               |    vfs_statx() {
 1)   2.994 us    |      vfs_getattr_nosec();
 1) + 17.556 us   |    }
 1) + 30.906 us   |  }
 1)               |  vfs_fstatat() {
 1)               |    vfs_statx() {
 1)   2.103 us    |      vfs_getattr_nosec();
 1) + 10.055 us   |    }
 1) + 14.422 us   |  }
 1)               |  vfs_fstatat() {
""",
    ),
    (
        "a threshold: exits only",
        "funcgraph-cpu nofuncgraph-proc",
        """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0) ! 272.096 us  |              } /* _raw_spin_unlock_irqrestore */
 0) ! 371.876 us  |            } /* pcpu_alloc_noprof */
 0) ! 423.753 us  |          } /* mm_init.isra.0 */
 0) ! 430.613 us  |        } /* mm_alloc */
 0) ! 543.512 us  |      } /* alloc_bprm */
 0) ! 201.942 us  |            } /* __get_user_pages */
 0) ! 207.580 us  |          } /* get_user_pages_remote */
 0) ! 221.982 us  |        } /* get_arg_page */
 0) ! 226.879 us  |      } /* copy_string_kernel */
 ------------------------------------------
 0)    work-191    =>   rcu_pre-14 \x20
 ------------------------------------------

 0) # 8523.249 us |      } /* schedule */
 0) # 8542.728 us |    } /* schedule_timeout */
 1) ! 301.426 us  |            } /* cpu_stop_queue_work */
 1) ! 325.361 us  |          } /* stop_one_cpu */
 1) ! 362.677 us  |        } /* sched_exec */
 ------------------------------------------
 0)   rcu_pre-14   =>    <idle>-0  \x20
 ------------------------------------------

 0) # 8790.739 us |    } /* schedule_idle */
 0) * 12649.02 us |  } /* do_idle */
 1) ! 255.822 us  |                  } /* __zap_vma_range */
 1) ! 757.261 us  |                  } /* __zap_vma_range */
 1) ! 223.043 us  |                  } /* __zap_vma_range */
 1) # 1461.953 us |                  } /* __zap_vma_range */
""",
    ),
    (
        "losses",
        "funcgraph-cpu nofuncgraph-proc",
        """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
CPU:0 [LOST 88732 EVENTS]
 0)   0.781 us    |          } /* preempt_count_add */
 0)               |                dl_server_start() {
CPU:1 [LOST 2409820 EVENTS]
 1)   0.941 us    |          } /* __msecs_to_jiffies */
CPU:0 [LOST 813 EVENTS]
 0)   0.851 us    |          } /* preempt_count_sub */
""",
    ),
    (
        "a long duration",
        "funcgraph-cpu",
        """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 1) @ 157371.9 us |  } /* fgt_sleep */
""",
    ),
]


@pytest.mark.parametrize(("shows", "options", "text"), CAPTURES, ids=[capture[0] for capture in CAPTURES])
def test_the_text_is_the_kernels(shows: str, options: str, text: str, tmp_path: Path) -> None:
    path = Replay(text).trace.save(tmp_path / "trace.dat")
    ours = b"".join(TraceFile(path).report(parse_options(options.split()))).decode()
    assert ours == text
