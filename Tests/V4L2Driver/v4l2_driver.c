// The device's descriptor is a memfd that holds the buffers one after the other. So the kernel maps, duplicates and closes it.
// The driver replaces only opendir, access, open64, ioctl and poll, and detects a closed device by its inode.
//
// Like a decoder with one command queue, it takes coded data once there is a buffer for the previous picture,
// and returns the data after decoding it.
#define _GNU_SOURCE
#include "v4l2_driver.h"
#include "../CTestSupport/process_counts.h"

#include "../../Sources/CFFmpeg/versions.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libavcodec/avcodec.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <linux/videodev2.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define EXPORTED __attribute__((visibility("default")))

enum { CODED, PICTURES, QUEUES, MOST_BUFFERS = 64, MOST_PENDING = 64 };

struct buffer {
    int is_queued, is_done, used;
    off_t offset;
    uint8_t *memory;
    struct timeval time;
    unsigned flags;
};
struct queue {
    int count, is_on, order[MOST_BUFFERS], queued, done[MOST_BUFFERS], finished;
    unsigned length;
    struct buffer buffers[MOST_BUFFERS];
};
struct device {
    int fd, is_decoder, has_event, is_draining, has_ended;
    ino_t inode;
    off_t end;
    unsigned width, height, stride, rows;  // of the pictures
    struct queue queues[QUEUES];
    AVCodecContext *decoder;
    AVFrame *pending[MOST_PENDING];
    int pendings;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct device *devices[64];
static struct {
    char name[24];
    int calls, first, count, error;
} faults[32];
static int is_there, plugs, fault_count, decoder_limit = COUNT(devices), buffer_limit = MOST_BUFFERS, total, refused;
static char folder[64];

// ---- Faults. Hold the lock for all of these

static int entry(const char *name) {
    for (int i = 0; i < fault_count; i++)
        if (!strcmp(faults[i].name, name)) return i;
    if (fault_count == COUNT(faults)) abort();
    strncpy(faults[fault_count].name, name, sizeof faults[0].name - 1);
    return fault_count++;
}

// Returns whether a call fails, and sets errno
static int is_faulty(const char *name) {
    int i = entry(name), call = ++faults[i].calls;
    if (!faults[i].count || call < faults[i].first || call - faults[i].first >= faults[i].count) return 0;
    errno = faults[i].error;
    if (faults[i].error) return 1;
    for (int plug = plugs; plug == plugs;) pthread_cond_wait(&changed, &mutex);
    errno = ENODEV;
    return 1;
}

EXPORTED void v4l2_driver_plug(int value) {
    pthread_mutex_lock(&mutex);
    is_there = value;
    plugs++;
    if (!folder[0]) {
        // The node that libavcodec finds in /dev
        char path[96];
        strcpy(folder, "/tmp/v4l2_driver.XXXXXX");
        if (!mkdtemp(folder)) abort();
        snprintf(path, sizeof path, "%s/video0", folder);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0) abort();
        close(fd);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

EXPORTED void v4l2_driver_reset(void) {
    pthread_mutex_lock(&mutex);
    memset(faults, 0, sizeof faults);
    fault_count = 0;
    decoder_limit = COUNT(devices);
    buffer_limit = MOST_BUFFERS;
    pthread_mutex_unlock(&mutex);
}

EXPORTED void v4l2_driver_fail(const char *name, int first, int count, int error) {
    pthread_mutex_lock(&mutex);
    int i = entry(name);
    faults[i].calls = 0;
    faults[i].first = first;
    faults[i].count = count;
    faults[i].error = error;
    pthread_mutex_unlock(&mutex);
}

EXPORTED int v4l2_driver_calls(const char *name) {
    pthread_mutex_lock(&mutex);
    int calls = faults[entry(name)].calls;
    pthread_mutex_unlock(&mutex);
    return calls;
}

EXPORTED void v4l2_driver_limit(int count) { decoder_limit = count; }
EXPORTED void v4l2_driver_limit_buffers(int count) { buffer_limit = count; }

// ---- Devices

static void release(struct device *d) {
    for (int q = 0; q < QUEUES; q++)
        for (int i = 0; i < d->queues[q].count; i++) munmap(d->queues[q].buffers[i].memory, d->queues[q].length);
    while (d->pendings) av_frame_free(&d->pending[--d->pendings]);
    avcodec_free_context(&d->decoder);
    free(d);
}

static int is_open(const struct device *d) {
    struct stat found;
    return !fstat(d->fd, &found) && found.st_ino == d->inode;
}

static int sweep(void) {
    int decoders = 0;
    for (int i = 0; i < COUNT(devices); i++) {
        if (devices[i] && !is_open(devices[i])) {
            release(devices[i]);
            devices[i] = NULL;
        }
        decoders += devices[i] && devices[i]->is_decoder;
    }
    return decoders;
}

EXPORTED int v4l2_driver_decoders(void) {
    pthread_mutex_lock(&mutex);
    int decoders = sweep();
    pthread_mutex_unlock(&mutex);
    return decoders;
}

static struct device *device(int fd) {
    for (int i = 0; i < COUNT(devices); i++)
        if (devices[i] && devices[i]->fd == fd && is_open(devices[i])) return devices[i];
    return NULL;
}

static int open_device(void) {
    struct stat found;
    if (is_faulty("OPEN")) return -1;
    sweep();
    for (int i = 0; i < COUNT(devices); i++) {
        if (devices[i]) continue;
        struct device *d = calloc(1, sizeof *d);
        d->fd = memfd_create("v4l2_driver", MFD_CLOEXEC);
        if (d->fd < 0 || fstat(d->fd, &found)) abort();
        d->inode = found.st_ino;
        devices[i] = d;
        return d->fd;
    }
    errno = EMFILE;
    return -1;
}

// ---- Decoding

static void fill(struct device *d, struct buffer *b, const AVFrame *frame) {
    uint8_t *chroma = b->memory + (size_t)d->stride * d->rows;
    for (int y = 0; y < frame->height && y < (int)d->rows; y++)
        memcpy(b->memory + (size_t)y * d->stride, frame->data[0] + y * frame->linesize[0], (size_t)frame->width);
    for (int y = 0; y < (frame->height + 1) / 2; y++)
        for (int x = 0; x < (frame->width + 1) / 2; x++) {
            chroma[(size_t)y * d->stride + 2 * (size_t)x] = frame->data[1][y * frame->linesize[1] + x];
            chroma[(size_t)y * d->stride + 2 * (size_t)x + 1] = frame->data[2][y * frame->linesize[2] + x];
        }
    b->used = (int)(d->stride * d->rows * 3 / 2);
    b->time.tv_sec = frame->pts / 1000000;
    b->time.tv_usec = frame->pts % 1000000;
    b->flags = shim_frame_is_key(frame) ? V4L2_BUF_FLAG_KEYFRAME : 0;
}

static int take(struct queue *q) {
    int index = q->order[0];
    memmove(q->order, q->order + 1, sizeof *q->order * (size_t)--q->queued);
    return index;
}

static void finish(struct queue *q, int index) { q->done[q->finished++] = index; }

static void receive(struct device *d) {
    while (d->pendings < MOST_PENDING) {
        AVFrame *frame = av_frame_alloc();
        if (avcodec_receive_frame(d->decoder, frame) < 0) {
            av_frame_free(&frame);
            return;
        }
        d->pending[d->pendings++] = frame;
        total++;
    }
}

static void decode(struct device *d, const struct buffer *b) {
    AVPacket *packet = b ? av_packet_alloc() : NULL;
    if (b) {
        if (av_new_packet(packet, b->used) < 0) abort();
        memcpy(packet->data, b->memory, (size_t)b->used);
        packet->pts = (int64_t)b->time.tv_sec * 1000000 + b->time.tv_usec;
    }
    avcodec_send_packet(d->decoder, packet);
    av_packet_free(&packet);
    receive(d);
}

// Does as much as the available buffers allow
static void work(struct device *d) {
    struct queue *coded = &d->queues[CODED], *pictures = &d->queues[PICTURES];
    if (!coded->is_on) return;
    for (;;) {
        if (d->pendings && pictures->is_on && pictures->queued) {
            AVFrame *frame = d->pending[0];
            // New size: the reader gets the pictures before it, then must start over.
            if (d->width != (unsigned)frame->width || d->height != (unsigned)frame->height) {
                if (pictures->finished || d->has_event) return;
                d->width = (unsigned)frame->width;
                d->height = (unsigned)frame->height;
                d->has_event = 1;
                return;
            }
            int index = take(pictures);
            fill(d, &pictures->buffers[index], frame);
            memmove(d->pending, d->pending + 1, sizeof *d->pending * (size_t)--d->pendings);
            av_frame_free(&frame);
            finish(pictures, index);
        } else if (!d->pendings && coded->queued) {
            int index = take(coded);
            decode(d, &coded->buffers[index]);
            finish(coded, index);
        } else if (!d->pendings && d->is_draining == 1) {
            d->is_draining = 2;
            decode(d, NULL);
        } else {
            d->has_ended = d->is_draining == 2 && !d->pendings;
            return;
        }
    }
}

// ---- ioctls

static int which(unsigned type) { return type == V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE ? CODED : type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE ? PICTURES : -1; }

static void describe(struct device *d, struct v4l2_format *f) {
    struct v4l2_pix_format_mplane *p = &f->fmt.pix_mp;
    p->num_planes = 1;
    p->field = V4L2_FIELD_NONE;
    if (which(f->type) == CODED) {
        p->pixelformat = V4L2_PIX_FMT_H264;
        p->plane_fmt[0].sizeimage = 1 << 20;
        p->plane_fmt[0].bytesperline = 0;
        return;
    }
    p->pixelformat = V4L2_PIX_FMT_NV12;
    if (d->width) {
        p->width = d->width;
        p->height = d->height;
    }
    p->width = (p->width + 31) & ~31u;
    p->height = (p->height + 15) & ~15u;
    p->plane_fmt[0].bytesperline = p->width;
    p->plane_fmt[0].sizeimage = p->width * p->height * 3 / 2;
}

static int request(struct device *d, struct v4l2_requestbuffers *r) {
    struct queue *q = &d->queues[which(r->type)];
    for (int i = 0; i < q->count; i++) munmap(q->buffers[i].memory, q->length);
    memset(q, 0, sizeof *q);
    if (!r->count) return 0;
    if (which(r->type) == PICTURES) {
        struct v4l2_format f = {.type = r->type};
        describe(d, &f);
        d->stride = f.fmt.pix_mp.plane_fmt[0].bytesperline;
        d->rows = f.fmt.pix_mp.height;
        q->length = f.fmt.pix_mp.plane_fmt[0].sizeimage;
        if (r->count > (unsigned)buffer_limit) r->count = (unsigned)buffer_limit;
    } else {
        q->length = 1 << 20;
    }
    if (r->count > MOST_BUFFERS) r->count = MOST_BUFFERS;
    if (!r->count) return errno = ENOMEM, -1;
    for (unsigned i = 0; i < r->count; i++) {
        struct buffer *b = &q->buffers[i];
        b->offset = d->end;
        unsigned page = (unsigned)sysconf(_SC_PAGESIZE);
        d->end += (q->length + page - 1) / page * page;
        if (ftruncate(d->fd, d->end)) return -1;
        b->memory = mmap(NULL, q->length, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, b->offset);
        if (b->memory == MAP_FAILED) return -1;
        q->count++;
    }
    return 0;
}

static void tell(const struct queue *q, int index, struct v4l2_buffer *v) {
    const struct buffer *b = &q->buffers[index];
    v->index = (unsigned)index;
    v->flags = b->flags;
    v->timestamp = b->time;
    v->length = 1;
    v->m.planes[0].length = q->length;
    v->m.planes[0].bytesused = (unsigned)b->used;
    v->m.planes[0].data_offset = 0;
    v->m.planes[0].m.mem_offset = (unsigned)b->offset;
}

static int queue_buffer(struct device *d, struct v4l2_buffer *v) {
    struct queue *q = &d->queues[which(v->type)];
    if (v->index >= (unsigned)q->count) return errno = EINVAL, -1;
    struct buffer *b = &q->buffers[v->index];
    b->used = (int)v->m.planes[0].bytesused;
    b->time = v->timestamp;
    q->order[q->queued++] = (int)v->index;
    work(d);
    return 0;
}

static int dequeue_buffer(struct device *d, struct v4l2_buffer *v) {
    struct queue *q = &d->queues[which(v->type)];
    work(d);
    if (!q->finished) return errno = which(v->type) == PICTURES && d->has_ended ? EPIPE : EAGAIN, -1;
    tell(q, q->done[0], v);
    memmove(q->done, q->done + 1, sizeof *q->done * (size_t)--q->finished);
    return 0;
}

static int stream(struct device *d, unsigned type, int is_on) {
    struct queue *q = &d->queues[which(type)];
    q->is_on = is_on;
    if (!is_on) q->queued = q->finished = 0;
    return 0;
}

static int begin_decoder(struct device *d, const struct v4l2_format *f) {
    if (which(f->type) != CODED || d->is_decoder) return 0;
    if (sweep() + used_by_others() >= decoder_limit) {
        refused++;
        return errno = EBUSY, -1;
    }
    d->is_decoder = d->has_event = 1;
    tell_used(sweep());
    d->width = f->fmt.pix_mp.width;
    d->height = f->fmt.pix_mp.height;
    d->decoder = avcodec_alloc_context3(avcodec_find_decoder_by_name("h264"));
    d->decoder->thread_count = 1;
    if (avcodec_open2(d->decoder, NULL, NULL) < 0) abort();
    return 0;
}

#define CASE(name) \
    case VIDIOC_##name: \
        if (is_faulty(#name)) return -1

static int control(struct device *d, unsigned long code, void *argument) {
    switch (code) {
    CASE(QUERYCAP);
        memset(argument, 0, sizeof(struct v4l2_capability));
        strcpy((char *)((struct v4l2_capability *)argument)->driver, "v4l2_driver");
        strcpy((char *)((struct v4l2_capability *)argument)->card, "test driver");
        ((struct v4l2_capability *)argument)->capabilities = V4L2_CAP_VIDEO_M2M_MPLANE | V4L2_CAP_STREAMING;
        return 0;
    CASE(ENUM_FMT);
        struct v4l2_fmtdesc *description = argument;
        if (which(description->type) < 0 || description->index) return errno = EINVAL, -1;
        description->pixelformat = which(description->type) == CODED ? V4L2_PIX_FMT_H264 : V4L2_PIX_FMT_NV12;
        return 0;
    CASE(TRY_FMT);
        unsigned wanted = ((struct v4l2_format *)argument)->fmt.pix_mp.pixelformat;
        describe(d, argument);
        return wanted == ((struct v4l2_format *)argument)->fmt.pix_mp.pixelformat ? 0 : (errno = EINVAL, -1);
    CASE(S_FMT);
        if (begin_decoder(d, argument)) return -1;
        describe(d, argument);
        return 0;
    CASE(G_FMT);
        describe(d, argument);
        if (which(((struct v4l2_format *)argument)->type) == CODED) {
            ((struct v4l2_format *)argument)->fmt.pix_mp.width = d->width;
            ((struct v4l2_format *)argument)->fmt.pix_mp.height = d->height;
        }
        return 0;
    CASE(SUBSCRIBE_EVENT);
        return 0;
    CASE(DQEVENT);
        if (!d->has_event) return errno = ENOENT, -1;
        d->has_event = 0;
        memset(argument, 0, sizeof(struct v4l2_event));
        ((struct v4l2_event *)argument)->type = V4L2_EVENT_SOURCE_CHANGE;
        return 0;
    CASE(REQBUFS);
        return request(d, argument);
    CASE(QUERYBUF);
        tell(&d->queues[which(((struct v4l2_buffer *)argument)->type)], (int)((struct v4l2_buffer *)argument)->index, argument);
        return 0;
    CASE(QBUF);
        return queue_buffer(d, argument);
    CASE(DQBUF);
        return dequeue_buffer(d, argument);
    CASE(STREAMON);
        return stream(d, *(unsigned *)argument, 1);
    CASE(STREAMOFF);
        return stream(d, *(unsigned *)argument, 0);
    CASE(DECODER_CMD);
        // libavcodec restarts the decoder after each event.
        d->is_draining = ((struct v4l2_decoder_cmd *)argument)->cmd == V4L2_DEC_CMD_STOP;
        work(d);
        return 0;
    default: return errno = ENOTTY, -1;
    }
}

// Returns the subset of `events` that is ready, as poll(2) does
static short ready(struct device *d, short events) {
    struct queue *pictures = &d->queues[PICTURES], *coded = &d->queues[CODED];
    short found = 0;
    work(d);
    if (is_faulty("POLL") || !is_there) return POLLERR;
    if (!coded->is_on && !pictures->is_on) return POLLERR;
    if (pictures->finished || d->has_ended) found |= POLLIN | POLLRDNORM;
    if (coded->finished) found |= POLLOUT | POLLWRNORM;
    if (d->has_event) found |= POLLPRI;
    return found & events;
}

// ---- Replacements of libc's functions

#define NEXT(name) \
    static _Atomic(void *) known; \
    if (!known) known = dlsym(RTLD_NEXT, #name); \
    __typeof__(name) *next; \
    *(void **)&next = known

static int is_device(const char *path) { return is_there && path && !strcmp(path, "/dev/video0"); }

EXPORTED DIR *opendir(const char *path) {
    NEXT(opendir);
    return next(is_there && !strcmp(path, "/dev") ? folder : path);
}

EXPORTED int access(const char *path, int mode) {
    NEXT(access);
    return is_device(path) ? 0 : next(path, mode);
}

EXPORTED int open64(const char *path, int flags, ...) {
    NEXT(open64);
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
    }
    if (!is_device(path)) return next(path, flags, mode);
    pthread_mutex_lock(&mutex);
    int fd = open_device();
    pthread_mutex_unlock(&mutex);
    return fd;
}

EXPORTED int ioctl(int fd, unsigned long code, ...) {
    static _Atomic(void *) known;
    int (*next)(int, unsigned long, ...);
    va_list list;
    va_start(list, code);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (!known) known = dlsym(RTLD_NEXT, "ioctl");
    *(void **)&next = known;
    if (_IOC_TYPE(code) != 'V' || !plugs) return next(fd, code, argument);
    pthread_mutex_lock(&mutex);
    struct device *d = device(fd);
    int is_lost = d && !is_there, status = 0;
    if (d && !is_lost) status = control(d, code, argument);
    int error = is_lost ? ENODEV : errno;
    pthread_mutex_unlock(&mutex);
    errno = error;
    if (!d) return next(fd, code, argument);
    return is_lost ? -1 : status;
}

EXPORTED int poll(struct pollfd *list, nfds_t count, int timeout) {
    NEXT(poll);
    if (count != 1 || !plugs) return next(list, count, timeout);
    pthread_mutex_lock(&mutex);
    struct device *d = device(list[0].fd);
    int found = -1, plug = plugs;
    for (int waited = 0; d; waited++) {
        // A device that was unplugged stays lost, even if it is plugged in again.
        list[0].revents = plug == plugs ? ready(d, list[0].events) : POLLERR;
        found = list[0].revents != 0;
        if (found || timeout >= 0 && waited >= timeout) break;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 1000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&changed, &mutex, &until);
        d = device(list[0].fd);
    }
    pthread_mutex_unlock(&mutex);
    return found < 0 ? next(list, count, timeout) : found;
}

// For players that preload it. KIOSK_TEST_V4L2_DECODERS=1 is a device with one decoder. At exit the driver writes two
// numbers to the file KIOSK_TEST_V4L2_CALLS: decoders refused and pictures decoded. KIOSK_TEST_V4L2_HANGS=DQBUF:100 makes a call hang
__attribute__((constructor)) static void begin(void) {
    const char *count = getenv("KIOSK_TEST_V4L2_DECODERS"), *hang = getenv("KIOSK_TEST_V4L2_HANGS");
    char name[24];
    int number;
    if (!count) return;
    v4l2_driver_plug(1);
    decoder_limit = atoi(count);
    if (hang && sscanf(hang, "%23[^:]:%d", name, &number) == 2) v4l2_driver_fail(name, number, 1, 0);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("KIOSK_TEST_V4L2_CALLS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%d %d\n", refused, total);
        fclose(file);
    }
    if (!folder[0]) return;
    char node[96];
    snprintf(node, sizeof node, "%s/video0", folder);
    unlink(node);
    rmdir(folder);
}
