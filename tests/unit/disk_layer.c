/* A layer below SQLite, loaded with LD_PRELOAD: notes what is written and synced to one database, and fails on order.

   Watched are the database, its -wal, -shm and -journal files, and their folder. The notes are the operations in their
   order: what a disk may hold after a power cut is made of them by `power_cut.py`. Nothing else is touched. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { DATABASE, WAL, SHM, JOURNAL, FOLDER, OTHER };
enum { CREATE = 1, WRITE, TRUNCATE, SYNC, UNLINK, MARK };
enum { MOST_FILES = 4096, LONGEST = 4000 };

static char database[LONGEST], folder[LONGEST];
static int notes = -1;
static unsigned char kinds[MOST_FILES]; /* kind + 1 of each open file */
static long done, fail_at;
static int fail_with, fail_on;

struct note { uint8_t what, kind, pad[2]; uint32_t length; uint64_t at; };

static int kind_of(const char *path) {
    size_t n = strlen(database);
    if (!n || !path) return OTHER;
    if (!strcmp(path, folder)) return FOLDER;
    if (strncmp(path, database, n)) return OTHER;
    if (!path[n]) return DATABASE;
    if (!strcmp(path + n, "-wal")) return WAL;
    if (!strcmp(path + n, "-shm")) return SHM;
    return strcmp(path + n, "-journal") ? OTHER : JOURNAL;
}

static int kind_of_file(int file) { return file >= 0 && file < MOST_FILES && kinds[file] ? kinds[file] - 1 : OTHER; }

static void put(const void *data, size_t length) {
    const char *from = data;
    while (length) {
        ssize_t n = syscall(SYS_write, notes, from, length);
        if (n <= 0) syscall(SYS_exit_group, 99);
        from += n, length -= (size_t)n;
    }
}

static void note(int what, int kind, uint64_t at, const void *data, size_t length) {
    if (notes < 0 || kind == OTHER || kind == SHM) return;
    struct note head = {(uint8_t)what, (uint8_t)kind, {0, 0}, (uint32_t)length, at};
    put(&head, sizeof head);
    if (length) put(data, length);
}

/* Whether this operation is to fail; a full disk still syncs and deletes. */
static int fails(int kind, int what) {
    if (kind == OTHER) return 0;
    if (fail_with == ENOSPC && (what == SYNC || what == UNLINK)) return 0;
    done++;
    if (!fail_at || done < fail_at || (done > fail_at && !fail_on)) return 0;
    errno = fail_with;
    return 1;
}

void disk_watch(const char *path, const char *into) {
    strncpy(database, path, LONGEST - 1);
    strncpy(folder, path, LONGEST - 1);
    char *end = strrchr(folder, '/');
    if (end) *end = 0;
    if (notes >= 0) syscall(SYS_close, notes);
    notes = *into ? (int)syscall(SYS_openat, AT_FDCWD, into, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600) : -1;
}

void disk_fail(long at, int with, int on) { done = 0, fail_at = at, fail_with = with, fail_on = on; }
long disk_done(void) { return done; }
void disk_mark(const char *text) { note(MARK, FOLDER, 0, text, strlen(text)); }

static int opened(int directory, const char *path, int flags, mode_t mode) {
    int kind = kind_of(path);
    int is_new = kind != OTHER && (flags & O_CREAT) && syscall(SYS_faccessat, AT_FDCWD, path, F_OK);
    if (is_new && fails(kind, CREATE)) return -1;
    int file = (int)syscall(SYS_openat, directory, path, flags, mode);
    if (file >= 0 && file < MOST_FILES) kinds[file] = kind == OTHER ? 0 : (unsigned char)(kind + 1);
    if (file >= 0 && is_new) note(CREATE, kind, 0, 0, 0);
    if (file >= 0 && !is_new && kind != OTHER && (flags & O_TRUNC)) note(TRUNCATE, kind, 0, 0, 0);
    return file;
}

#define MODE(flags) mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list l; va_start(l, flags); \
    mode = va_arg(l, mode_t); va_end(l); }
int open(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }

int close(int file) {
    if (file >= 0 && file < MOST_FILES) kinds[file] = 0;
    return (int)syscall(SYS_close, file);
}

static ssize_t written(int file, const void *data, size_t length, off_t at) {
    int kind = kind_of_file(file);
    if (fails(kind, WRITE)) {
        if (fail_with != ENOSPC || length < 2) return -1;
        length /= 2; /* a disk that becomes full takes a part */
    }
    ssize_t n = syscall(SYS_pwrite64, file, data, length, at);
    if (n > 0) note(WRITE, kind, (uint64_t)at, data, (size_t)n);
    return n;
}
ssize_t pwrite(int file, const void *data, size_t length, off_t at) { return written(file, data, length, at); }
ssize_t pwrite64(int file, const void *data, size_t length, off_t at) { return written(file, data, length, at); }
ssize_t write(int file, const void *data, size_t length) {
    int kind = kind_of_file(file);
    if (kind == OTHER) return syscall(SYS_write, file, data, length);
    off_t at = syscall(SYS_lseek, file, 0, SEEK_CUR);
    ssize_t n = written(file, data, length, at);
    if (n > 0) syscall(SYS_lseek, file, at + n, SEEK_SET);
    return n;
}

static int truncated(int file, off_t length) {
    int kind = kind_of_file(file);
    if (fails(kind, TRUNCATE)) return -1;
    int bad = (int)syscall(SYS_ftruncate, file, length);
    if (!bad) note(TRUNCATE, kind, (uint64_t)length, 0, 0);
    return bad;
}
int ftruncate(int file, off_t length) { return truncated(file, length); }
int ftruncate64(int file, off_t length) { return truncated(file, length); }

static int synced(int file, long call) {
    int kind = kind_of_file(file);
    if (fails(kind, SYNC)) return -1;
    int bad = (int)syscall(call, file);
    if (!bad) note(SYNC, kind, 0, 0, 0);
    return bad;
}
int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

int unlink(const char *path) {
    int kind = kind_of(path);
    if (fails(kind, UNLINK)) return -1;
    int bad = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (!bad) note(UNLINK, kind, 0, 0, 0);
    return bad;
}
