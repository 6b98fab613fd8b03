/* funcgraph._system: system calls that Python's os module has not, or not in every version. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/memfd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "binding/base/raise.h"
#include "binding/base/slots.h"

/* linux/openat2.h, which a builder's kernel headers may lack. */
#ifndef SYS_openat2
#define SYS_openat2 437 /* on every processor */
#endif
struct how {
    uint64_t flags, mode, resolve;
};
#define RESOLVE_NO_XDEV 0x01
#define RESOLVE_NO_MAGICLINKS 0x02
#define RESOLVE_NO_SYMLINKS 0x04
#define RESOLVE_BENEATH 0x08

static PyObject *none_or_error(long result)
{
    if (result < 0)
        return fg_raise_errno(-errno, NULL);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(openat2_doc, "openat2($module, path, flags, mode, resolve, dir_fd, /)\n--\n\n"
                          "openat2(2): open a path; return the descriptor.");

static PyObject *system_openat2(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *path = NULL, *result;
    struct how how;
    int dir_fd, fd;

    if (!PyArg_ParseTuple(args, "O&KKKi:openat2", PyUnicode_FSConverter, &path, &how.flags, &how.mode,
                          &how.resolve, &dir_fd))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    fd = (int)syscall(SYS_openat2, dir_fd, PyBytes_AS_STRING(path), &how, sizeof(how));
    Py_END_ALLOW_THREADS
    result = fd < 0 ? fg_raise_errno(-errno, path) : PyLong_FromLong(fd);
    Py_DECREF(path);
    return result;
}

PyDoc_STRVAR(setns_doc,
             "setns($module, fd, kinds, /)\n--\n\n"
             "setns(2): join the namespaces of a pidfd's process that `kinds` has (CLONE_NEW...).");

static PyObject *system_setns(PyObject *Py_UNUSED(module), PyObject *args)
{
    int fd, kinds;

    if (!PyArg_ParseTuple(args, "ii:setns", &fd, &kinds))
        return NULL;
    return none_or_error(setns(fd, kinds));
}

PyDoc_STRVAR(no_new_privs_doc, "no_new_privs($module, /)\n--\n\n"
                               "No program that this process executes gets rights that the process has not.");

static PyObject *system_no_new_privs(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return none_or_error(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

PyDoc_STRVAR(drop_bounding_set_doc,
             "drop_bounding_set($module, /)\n--\n\n"
             "Give up that programs which this thread executes get capabilities, as far as it may.");

static PyObject *system_drop_bounding_set(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(drop_capabilities_doc,
             "drop_capabilities($module, /)\n--\n\nGive up all capabilities of this thread, for good.");

static PyObject *system_drop_capabilities(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    return none_or_error(syscall(SYS_capset, &header, none)); /* empties the ambient set, too */
}

PyDoc_STRVAR(set_dumpable_doc, "set_dumpable($module, is_dumpable, /)\n--\n\n"
                               "Set whether processes of the same user may look into this one.");

static PyObject *system_set_dumpable(PyObject *Py_UNUSED(module), PyObject *is_dumpable)
{
    int flag = PyObject_IsTrue(is_dumpable);

    return flag < 0 ? NULL : none_or_error(prctl(PR_SET_DUMPABLE, flag, 0, 0, 0));
}

PyDoc_STRVAR(end_with_parent_doc,
             "end_with_parent($module, signal, /)\n--\n\n"
             "Get a signal when the thread that started this process ends. A change of user undoes it.");

static PyObject *system_end_with_parent(PyObject *Py_UNUSED(module), PyObject *signal)
{
    long number = PyLong_AsLong(signal);

    if (number == -1 && PyErr_Occurred())
        return NULL;
    return none_or_error(prctl(PR_SET_PDEATHSIG, number, 0, 0, 0));
}

PyDoc_STRVAR(file_system_doc, "file_system($module, fd, /)\n--\n\n"
                              "fstatfs(2): return the type of the file system that a descriptor is in.");

static PyObject *system_file_system(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct statfs facts;
    int fd, error;

    if (!PyArg_ParseTuple(args, "i:file_system", &fd))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    error = fstatfs(fd, &facts);
    Py_END_ALLOW_THREADS
    return error ? fg_raise_errno(-errno, NULL) : PyLong_FromUnsignedLong((unsigned long)facts.f_type);
}

/* Does not ask the server of the file system, if the kernel can: a user's own one (FUSE) need not answer. */
static int cached_identity(const char *path, uint64_t *device, uint64_t *inode)
{
    struct stat facts;
#ifdef STATX_INO
    struct statx known;

    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &known) == 0) {
        *device = makedev(known.stx_dev_major, known.stx_dev_minor);
        *inode = known.stx_ino;
        return 0;
    }
    if (errno != ENOSYS)
        return -errno;
#endif
    if (stat(path, &facts) != 0)
        return -errno;
    *device = facts.st_dev;
    *inode = facts.st_ino;
    return 0;
}

PyDoc_STRVAR(device_inode_doc,
             "device_inode($module, path, /)\n--\n\n"
             "Return device and inode of a file, as the kernel has them: its file system is not asked.");

static PyObject *system_device_inode(PyObject *Py_UNUSED(module), PyObject *argument)
{
    PyObject *path = NULL, *result;
    uint64_t device = 0, inode = 0;
    int error;

    if (!PyUnicode_FSConverter(argument, &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    error = cached_identity(PyBytes_AS_STRING(path), &device, &inode);
    Py_END_ALLOW_THREADS
    result = error ? fg_raise_errno(error, path)
                   : Py_BuildValue("KK", (unsigned long long)device, (unsigned long long)inode);
    Py_DECREF(path);
    return result;
}

PyDoc_STRVAR(memfd_create_doc,
             "memfd_create($module, name, /)\n--\n\n"
             "memfd_create(2): make a file in memory; return its descriptor, closed by exec.");

static PyObject *system_memfd_create(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *name;
    int fd;

    if (!PyArg_ParseTuple(args, "s:memfd_create", &name))
        return NULL;
    fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC); /* glibc has it from 2.27 on, and os with that */
    return fd < 0 ? fg_raise_errno(-errno, NULL) : PyLong_FromLong(fd);
}

PyDoc_STRVAR(read_memory_doc, "read_memory($module, pid, address, size, /)\n--\n\n"
                              "process_vm_readv(2): return bytes of the memory of a process.");

static PyObject *system_read_memory(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct iovec here, there;
    PyObject *address, *bytes;
    Py_ssize_t size, got;
    int pid;

    if (!PyArg_ParseTuple(args, "iO!n:read_memory", &pid, &PyLong_Type, &address, &size))
        return NULL;
    there = (struct iovec){PyLong_AsVoidPtr(address), (size_t)size};
    if (PyErr_Occurred())
        return NULL;
    bytes = PyBytes_FromStringAndSize(NULL, size);
    if (bytes == NULL)
        return NULL;
    here = (struct iovec){PyBytes_AS_STRING(bytes), (size_t)size};
    Py_BEGIN_ALLOW_THREADS
    got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    Py_END_ALLOW_THREADS
    if (got < 0) {
        Py_DECREF(bytes);
        return fg_raise_errno(-errno, NULL);
    }
    if (got != size)
        _PyBytes_Resize(&bytes, got);
    return bytes;
}

static PyMethodDef system_methods[] = {
    {"memfd_create", system_memfd_create, METH_VARARGS, memfd_create_doc},
    {"openat2", system_openat2, METH_VARARGS, openat2_doc},
    {"setns", system_setns, METH_VARARGS, setns_doc},
    {"no_new_privs", system_no_new_privs, METH_NOARGS, no_new_privs_doc},
    {"drop_bounding_set", system_drop_bounding_set, METH_NOARGS, drop_bounding_set_doc},
    {"drop_capabilities", system_drop_capabilities, METH_NOARGS, drop_capabilities_doc},
    {"set_dumpable", system_set_dumpable, METH_O, set_dumpable_doc},
    {"end_with_parent", system_end_with_parent, METH_O, end_with_parent_doc},
    {"file_system", system_file_system, METH_VARARGS, file_system_doc},
    {"device_inode", system_device_inode, METH_O, device_inode_doc},
    {"read_memory", system_read_memory, METH_VARARGS, read_memory_doc},
    {NULL, NULL, 0, NULL},
};

static const struct {
    const char *name;
    int value;
} constants[] = {
    {"CLONE_NEWUSER", CLONE_NEWUSER},
    {"RESOLVE_NO_XDEV", RESOLVE_NO_XDEV},
    {"RESOLVE_NO_MAGICLINKS", RESOLVE_NO_MAGICLINKS},
    {"RESOLVE_NO_SYMLINKS", RESOLVE_NO_SYMLINKS},
    {"RESOLVE_BENEATH", RESOLVE_BENEATH},
};

static int system_exec(PyObject *module)
{
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) != 0)
            return -1;
    }
    return 0;
}

static PyModuleDef_Slot system_slots[] = {
    {Py_mod_exec, system_exec},
    FG_LAST_SLOTS,
};

static struct PyModuleDef system_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "funcgraph._system",
    .m_doc = "System calls that Python's os module has not, or not in every version.",
    .m_methods = system_methods,
    .m_slots = system_slots,
};

PyMODINIT_FUNC PyInit__system(void)
{
    return PyModuleDef_Init(&system_module);
}
