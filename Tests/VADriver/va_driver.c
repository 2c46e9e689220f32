// The number of a picture is the number of its IDR picture plus the distance of their picture order counts.
// With H.264 the driver halves this distance, because x264 counts in twos. The driver recognises an IDR picture by its slice.
// So the numbers are right after a seek if the stream was once decoded from its beginning.
//
// Frame n of an interlaced stream shows the numbers 2n - 1 and 2n in its odd and even lines. The filter "deinterlaces" by drawing either.
#define _GNU_SOURCE
#include "va_driver.h"

#include "../CTestSupport/process_counts.h"
#include "va_encoder.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <linux/udmabuf.h>
#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_backend_prot.h>
#include <va/va_backend_vpp.h>
#include <va/va_drmcommon.h>
#include <va/va_vpp.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define CALL(name, status) \
    do { \
        if (driver != &calm && faulty(name)) return status; \
    } while (0)
#define EXPORTED __attribute__((visibility("default")))

struct surface {
    int used, fd, undrawn, is_interlaced, is_calm;
    unsigned width, height, pitch, rows, number;
    size_t size;
    uint8_t *memory;
    struct timespec due;
};
struct buffer {
    int used, borrowed;
    VABufferType type;
    unsigned size, count;
    void *memory;
};
struct context {
    int used, is_hevc, is_idr, is_filter, is_encoder, is_calm, is_interlaced;
    VASurfaceID target;
    struct va_picture *picture;
    unsigned width, height;
    int base, decoded, order, idr_order;
    uint64_t idr;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
// The device of /dev/full: the settings of tests do not affect it.
static struct VADriverContext calm;
static struct surface surfaces[512];
static struct buffer buffers[4096];
static struct context contexts[32];
static struct {
    uint64_t slice;
    int base;
} idrs[1024];
static struct {
    char name[32];
    int calls, first, count;
} faults[64];
// In players: the picture at which the driver crashes
static int crash_at, drawn;
// In the process that exports films: the picture at which the driver's encoder crashes or hangs
static int encoder_crash_at, encoder_hang_at, encoded;
static int refused, idr_count, fault_count, surface_count, surface_limit = COUNT(surfaces), context_limit = COUNT(contexts), delay, offers = 1, offers_filter = 1,
    offers_encoder = 1, offers_b_pictures, offers_sync_buffer = 1, offers_headers = 1, offers_quantiser = 1, stall;

// ---- Faults

static int entry(const char *name) {
    for (int i = 0; i < fault_count; i++)
        if (!strcmp(faults[i].name, name)) return i;
    if (fault_count == COUNT(faults)) abort();
    strncpy(faults[fault_count].name, name, sizeof faults[0].name - 1);
    return fault_count++;
}

static int faulty(const char *name) {
    pthread_mutex_lock(&mutex);
    int i = entry(name), call = ++faults[i].calls;
    int fails = faults[i].count && call >= faults[i].first && call - faults[i].first < faults[i].count;
    int time = fails ? stall : 0;
    pthread_mutex_unlock(&mutex);
    if (time) usleep((useconds_t)time);
    return fails && !time;
}

EXPORTED void va_driver_reset(void) {
    pthread_mutex_lock(&mutex);
    memset(faults, 0, sizeof faults);
    fault_count = delay = 0;
    surface_limit = COUNT(surfaces);
    context_limit = COUNT(contexts);
    offers = offers_filter = offers_encoder = offers_sync_buffer = offers_headers = offers_quantiser = 1;
    offers_b_pictures = stall = 0;
    pthread_mutex_unlock(&mutex);
}

EXPORTED void va_driver_fail(const char *name, int first, int count) {
    pthread_mutex_lock(&mutex);
    int i = entry(name);
    faults[i].calls = 0;
    faults[i].first = first;
    faults[i].count = count;
    pthread_mutex_unlock(&mutex);
}

EXPORTED int va_driver_calls(const char *name) {
    pthread_mutex_lock(&mutex);
    int calls = faults[entry(name)].calls;
    pthread_mutex_unlock(&mutex);
    return calls;
}

EXPORTED void va_driver_limit_surfaces(int count) { surface_limit = count; }
EXPORTED void va_driver_limit_contexts(int count) { context_limit = count; }
EXPORTED int va_driver_surfaces(void) { return surface_count; }
EXPORTED void va_driver_delay(int microseconds) { delay = microseconds; }
EXPORTED void va_driver_offer(int value) { offers = value; }
EXPORTED void va_driver_offer_filter(int value) { offers_filter = value; }
EXPORTED void va_driver_offer_encoder(int value) { offers_encoder = value; }
EXPORTED void va_driver_offer_b_pictures(int value) { offers_b_pictures = value; }
EXPORTED void va_driver_offer_sync_buffer(int value) { offers_sync_buffer = value; }
EXPORTED void va_driver_offer_headers(int value) { offers_headers = value; }
EXPORTED void va_driver_offer_quantiser(int value) { offers_quantiser = value; }
EXPORTED void va_driver_stall(int microseconds) { stall = microseconds; }

// ---- Pictures

static struct surface *surface(VASurfaceID id) { return id < (unsigned)COUNT(surfaces) && surfaces[id].used ? &surfaces[id] : NULL; }
static struct buffer *buffer(VABufferID id) { return id < (unsigned)COUNT(buffers) && buffers[id].used ? &buffers[id] : NULL; }
static struct context *context(VAContextID id) { return id < (unsigned)COUNT(contexts) && contexts[id].used ? &contexts[id] : NULL; }

// Sixteen cells along the bottom, each 1/40 of the width and 2/45 of the height
static void draw(struct surface *s, unsigned number) {
    for (unsigned y = s->height - s->height * 2 / 45; y < s->height; y++)
        for (unsigned x = 0; x < s->width * 16 / 40; x++)
            s->memory[(size_t)y * s->pitch + x] =
                (s->is_interlaced ? 2 * number - 1 + (y & 1) : number) >> (15 - x * 40 / s->width) & 1 ? 235 : 16;
    s->undrawn = 0;
}

static void wait_for(struct surface *s) {
    if (!s->undrawn) return;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &s->due, NULL)) {}
    draw(s, s->number);
}

static void begin_idr(struct context *c) {
    pthread_mutex_lock(&mutex);
    int i = 0;
    while (i < idr_count && idrs[i].slice != c->idr) i++;
    if (i == idr_count && i < COUNT(idrs)) {
        idrs[i].slice = c->idr;
        idrs[i].base = c->decoded;
        idr_count++;
    }
    if (i < idr_count) c->decoded = idrs[i].base;
    pthread_mutex_unlock(&mutex);
    c->base = c->decoded;
    c->idr_order = c->order;
}

// ---- Profiles and configurations

static VAStatus terminate(VADriverContextP driver) { return (void)driver, VA_STATUS_SUCCESS; }

static VAStatus query_profiles(VADriverContextP driver, VAProfile *list, int *count) {
    CALL("QueryConfigProfiles", VA_STATUS_ERROR_OPERATION_FAILED);
    *count = 0;
    if (offers || driver == &calm) {
        list[(*count)++] = VAProfileH264ConstrainedBaseline;
        list[(*count)++] = VAProfileH264Main;
        list[(*count)++] = VAProfileH264High;
        list[(*count)++] = VAProfileHEVCMain;
    }
    return VA_STATUS_SUCCESS;
}

static VAStatus query_entrypoints(VADriverContextP driver, VAProfile profile, VAEntrypoint *list, int *count) {
    list[0] = profile == VAProfileNone ? VAEntrypointVideoProc : VAEntrypointVLD;
    *count = 1;
    // Only this profile: for others libavcodec writes CABAC into the headers
    if (profile == VAProfileH264ConstrainedBaseline && (offers_encoder || driver == &calm))
        list[(*count)++] = offers_encoder == 2 && driver != &calm ? VAEntrypointEncSliceLP : VAEntrypointEncSlice;
    return VA_STATUS_SUCCESS;
}

static uint32_t attribute_of_encoder(VADriverContextP driver, VAConfigAttribType type) {
    switch (type) {
    case VAConfigAttribRateControl: return offers_quantiser || driver == &calm ? VA_RC_CQP : VA_RC_CBR | VA_RC_VBR;
    case VAConfigAttribEncPackedHeaders:
        return offers_headers || driver == &calm
                   ? VA_ENC_PACKED_HEADER_SEQUENCE | VA_ENC_PACKED_HEADER_SLICE | VA_ENC_PACKED_HEADER_MISC
                   : VA_ATTRIB_NOT_SUPPORTED;
    // Forward references; backward references are in the upper 16 bits
    case VAConfigAttribEncMaxRefFrames: return driver != &calm && offers_b_pictures ? 1 | 1 << 16 : 1;
    default: return VA_ATTRIB_NOT_SUPPORTED;
    }
}

static int encodes(VAEntrypoint entrypoint) { return entrypoint == VAEntrypointEncSlice || entrypoint == VAEntrypointEncSliceLP; }

static VAStatus get_attributes(VADriverContextP driver, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *list, int count) {
    (void)profile;
    for (int i = 0; i < count; i++)
        list[i].value = list[i].type == VAConfigAttribRTFormat       ? VA_RT_FORMAT_YUV420
                        : encodes(entrypoint)                             ? attribute_of_encoder(driver, list[i].type)
                                                             : VA_ATTRIB_NOT_SUPPORTED;
    return VA_STATUS_SUCCESS;
}

static const VAConfigID h264_config = 1, hevc_config = 2, filter_config = 3, encoder_config = 4;

static VAStatus create_config(
    VADriverContextP driver, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *list, int count, VAConfigID *id) {
    (void)list, (void)count;
    if (entrypoint == VAEntrypointVideoProc) {
        CALL("CreateFilter", VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT);
        *id = filter_config;
        return offers_filter ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT;
    }
    CALL("CreateConfig", VA_STATUS_ERROR_UNSUPPORTED_PROFILE);
    *id = encodes(entrypoint) ? encoder_config : profile == VAProfileHEVCMain ? hevc_config : h264_config;
    return VA_STATUS_SUCCESS;
}

static VAStatus destroy_config(VADriverContextP driver, VAConfigID id) { return (void)driver, (void)id, VA_STATUS_SUCCESS; }

static VAStatus query_config(
    VADriverContextP driver, VAConfigID id, VAProfile *profile, VAEntrypoint *entrypoint, VAConfigAttrib *list, int *count) {
    (void)driver;
    *profile = id == filter_config ? VAProfileNone : id == hevc_config ? VAProfileHEVCMain : VAProfileH264High;
    *entrypoint = id == filter_config ? VAEntrypointVideoProc : id == encoder_config ? VAEntrypointEncSlice : VAEntrypointVLD;
    list[0] = (VAConfigAttrib){VAConfigAttribRTFormat, VA_RT_FORMAT_YUV420};
    *count = 1;
    return VA_STATUS_SUCCESS;
}

static VAStatus query_surface(VADriverContextP driver, VAConfigID id, VASurfaceAttrib *list, unsigned *count) {
    static const struct {
        VASurfaceAttribType type;
        int value;
    } known[] = {
        {VASurfaceAttribPixelFormat, VA_FOURCC_NV12}, {VASurfaceAttribMinWidth, 16}, {VASurfaceAttribMinHeight, 16},
        {VASurfaceAttribMaxWidth, 4096}, {VASurfaceAttribMaxHeight, 4096},
        {VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_MEM_TYPE_VA | VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2},
    };
    (void)driver, (void)id;
    for (int i = 0; list && i < COUNT(known) && (unsigned)i < *count; i++)
        list[i] = (VASurfaceAttrib){
            known[i].type, VA_SURFACE_ATTRIB_GETTABLE | VA_SURFACE_ATTRIB_SETTABLE, {VAGenericValueTypeInteger, {.i = known[i].value}}};
    *count = COUNT(known);
    return VA_STATUS_SUCCESS;
}

// ---- Surfaces: memory that other processes and drivers can map; a dmabuf if the kernel supports it

static int allocate(struct surface *s, unsigned width, unsigned height) {
    *s = (struct surface){.width = width, .height = height, .pitch = (width + 63) & ~63u, .rows = (height + 31) & ~31u};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    s->size = ((size_t)s->pitch * s->rows * 3 / 2 + page - 1) / page * page;
    s->fd = memfd_create("va_driver", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (s->fd < 0 || ftruncate(s->fd, (off_t)s->size) || fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK)) return -1;
    s->memory = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (s->memory == MAP_FAILED) return -1;
    memset(s->memory, 128, s->size);
    int maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    if (maker >= 0) {
        struct udmabuf_create order = {.memfd = (uint32_t)s->fd, .flags = UDMABUF_FLAGS_CLOEXEC, .size = s->size};
        int made = ioctl(maker, UDMABUF_CREATE, &order);
        close(maker);
        if (made >= 0) {
            close(s->fd);
            s->fd = made;
        }
    }
    s->used = 1;
    return 0;
}

static VAStatus destroy_surfaces(VADriverContextP driver, VASurfaceID *list, int count) {
    (void)driver;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < count; i++) {
        struct surface *s = surface(list[i]);
        if (!s) continue;
        munmap(s->memory, s->size);
        close(s->fd);
        s->used = 0;
        surface_count -= !s->is_calm;
    }
    pthread_mutex_unlock(&mutex);
    return VA_STATUS_SUCCESS;
}

static VAStatus create_surfaces2(
    VADriverContextP driver, unsigned format, unsigned width, unsigned height, VASurfaceID *list, unsigned count, VASurfaceAttrib *attributes,
    unsigned attribute_count) {
    (void)attributes, (void)attribute_count;
    int is_calm = driver == &calm;
    CALL("CreateSurfaces", VA_STATUS_ERROR_ALLOCATION_FAILED);
    if (format != VA_RT_FORMAT_YUV420) return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    for (unsigned i = 0; i < count; i++) {
        VASurfaceID id = 0;
        pthread_mutex_lock(&mutex);
        while (id < (unsigned)COUNT(surfaces) && surfaces[id].used) id++;
        int fits = (is_calm || surface_count < surface_limit) && id < (unsigned)COUNT(surfaces) && !allocate(&surfaces[id], width, height);
        if (fits) {
            surfaces[id].is_calm = is_calm;
            surface_count += !is_calm;
        }
        pthread_mutex_unlock(&mutex);
        if (!fits) {
            destroy_surfaces(driver, list, (int)i);
            return VA_STATUS_ERROR_ALLOCATION_FAILED;
        }
        list[i] = id;
    }
    return VA_STATUS_SUCCESS;
}

static VAStatus create_surfaces(VADriverContextP driver, int width, int height, int format, int count, VASurfaceID *list) {
    return create_surfaces2(driver, (unsigned)format, (unsigned)width, (unsigned)height, list, (unsigned)count, NULL, 0);
}

static VAStatus sync_surface(VADriverContextP driver, VASurfaceID id) {
    CALL("SyncSurface", VA_STATUS_ERROR_DECODING_ERROR);
    if (!surface(id)) return VA_STATUS_ERROR_INVALID_SURFACE;
    wait_for(surface(id));
    return VA_STATUS_SUCCESS;
}

static VAStatus sync_buffer(VADriverContextP driver, VABufferID id, uint64_t timeout) {
    (void)timeout;
    if (!offers_sync_buffer && driver != &calm) return VA_STATUS_ERROR_UNIMPLEMENTED;
    if (!buffer(id)) return VA_STATUS_ERROR_INVALID_BUFFER;
    CALL("SyncBuffer", VA_STATUS_ERROR_ENCODING_ERROR);
    return VA_STATUS_SUCCESS;
}

static VAStatus query_status(VADriverContextP driver, VASurfaceID id, VASurfaceStatus *status) {
    (void)driver;
    if (!surface(id)) return VA_STATUS_ERROR_INVALID_SURFACE;
    *status = surface(id)->undrawn ? VASurfaceRendering : VASurfaceReady;
    return VA_STATUS_SUCCESS;
}

// Does not wait for the picture, as in real drivers
static VAStatus export_surface(VADriverContextP driver, VASurfaceID id, uint32_t type, uint32_t flags, void *out) {
    static const uint32_t separate[] = {FOURCC('R', '8', ' ', ' '), FOURCC('G', 'R', '8', '8')};
    VADRMPRIMESurfaceDescriptor *d = out;
    struct surface *s = surface(id);
    CALL("Export", VA_STATUS_ERROR_OPERATION_FAILED);
    if (!s) return VA_STATUS_ERROR_INVALID_SURFACE;
    if (type != VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2) return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
    int is_separate = (flags & VA_EXPORT_SURFACE_SEPARATE_LAYERS) != 0;
    memset(d, 0, sizeof *d);
    d->fourcc = VA_FOURCC_NV12;
    d->width = s->width;
    d->height = s->height;
    d->num_objects = 1;
    d->objects[0].fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 3);
    d->objects[0].size = (uint32_t)s->size;
    d->num_layers = is_separate ? 2 : 1;
    for (unsigned plane = 0; plane < 2; plane++) {
        unsigned layer = is_separate ? plane : 0, index = is_separate ? 0 : plane;
        d->layers[layer].drm_format = is_separate ? separate[plane] : FOURCC('N', 'V', '1', '2');
        d->layers[layer].num_planes = index + 1;
        d->layers[layer].offset[index] = plane * s->pitch * s->rows;
        d->layers[layer].pitch[index] = s->pitch;
    }
    return d->objects[0].fd < 0 ? VA_STATUS_ERROR_OPERATION_FAILED : VA_STATUS_SUCCESS;
}

// ---- Decoding

static int count_decoders(void) {
    int used = 0;
    for (int i = 0; i < COUNT(contexts); i++) used += contexts[i].used && !contexts[i].is_filter && !contexts[i].is_calm;
    return used;
}

static VAStatus create_context(
    VADriverContextP driver, VAConfigID config, int width, int height, int flag, VASurfaceID *list, int count, VAContextID *id) {
    (void)flag, (void)list, (void)count;
    int is_filter = config == filter_config, is_encoder = config == encoder_config, is_calm = driver == &calm;
    if (!is_filter) CALL("CreateContext", VA_STATUS_ERROR_ALLOCATION_FAILED);
    pthread_mutex_lock(&mutex);
    int i = 0, used = count_decoders();
    while (i < COUNT(contexts) && contexts[i].used) i++;
    if (used + used_by_others() >= context_limit && !is_filter && !is_calm) i = COUNT(contexts);
    refused += i == COUNT(contexts);
    if (i < COUNT(contexts)) 
        contexts[i] = (struct context){
            .used = 1, .is_hevc = config == hevc_config, .is_filter = is_filter, .is_encoder = is_encoder, .is_calm = is_calm, .width = (unsigned)width,
            .height = (unsigned)height, .picture = is_encoder ? calloc(1, sizeof(struct va_picture)) : NULL};
    tell_used(count_decoders());
    pthread_mutex_unlock(&mutex);
    *id = (VAContextID)i;
    return i < COUNT(contexts) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
}

static VAStatus destroy_context(VADriverContextP driver, VAContextID id) {
    (void)driver;
    if (context(id)) {
        free(context(id)->picture);
        pthread_mutex_lock(&mutex);
        context(id)->used = 0;
        tell_used(count_decoders());
        pthread_mutex_unlock(&mutex);
    }
    return VA_STATUS_SUCCESS;
}

// The beginning of a buffer of VAEncCodedBufferType. The data comes in two segments, which the API allows.
struct coded {
    VACodedBufferSegment pieces[2];
};

static VAStatus add_buffer(VABufferType type, unsigned size, unsigned count, void *memory, int borrowed, VABufferID *id) {
    pthread_mutex_lock(&mutex);
    int i = 0;
    while (i < COUNT(buffers) && buffers[i].used) i++;
    if (i < COUNT(buffers)) buffers[i] = (struct buffer){1, borrowed, type, size, count, memory};
    pthread_mutex_unlock(&mutex);
    *id = (VABufferID)i;
    return i < COUNT(buffers) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_ALLOCATION_FAILED;
}

static VAStatus create_buffer(
    VADriverContextP driver, VAContextID context_id, VABufferType type, unsigned size, unsigned count, void *data, VABufferID *id) {
    (void)context_id;
    CALL("CreateBuffer", VA_STATUS_ERROR_ALLOCATION_FAILED);
    if (type == VAEncCodedBufferType) size += sizeof(struct coded);
    void *memory = calloc(count, size);
    if (memory && data) memcpy(memory, data, (size_t)size * count);
    return add_buffer(type, size * count, count, memory, 0, id);
}

static VAStatus set_elements(VADriverContextP driver, VABufferID id, unsigned count) { return (void)driver, (void)id, (void)count, VA_STATUS_SUCCESS; }

static VAStatus map_buffer(VADriverContextP driver, VABufferID id, void **memory) {
    if (!buffer(id)) return VA_STATUS_ERROR_INVALID_BUFFER;
    if (buffer(id)->type == VAEncCodedBufferType) CALL("MapCoded", VA_STATUS_ERROR_OPERATION_FAILED);
    *memory = buffer(id)->memory;
    return VA_STATUS_SUCCESS;
}

static VAStatus unmap_buffer(VADriverContextP driver, VABufferID id) {
    (void)driver;
    return buffer(id) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
}

static VAStatus destroy_buffer(VADriverContextP driver, VABufferID id) {
    (void)driver;
    if (!buffer(id)) return VA_STATUS_ERROR_INVALID_BUFFER;
    if (!buffer(id)->borrowed) free(buffer(id)->memory);
    buffer(id)->used = 0;
    return VA_STATUS_SUCCESS;
}

static VAStatus begin_picture(VADriverContextP driver, VAContextID id, VASurfaceID target) {
    if (context(id) && !context(id)->is_filter) CALL("BeginPicture", VA_STATUS_ERROR_HW_BUSY);
    if (!context(id) || !surface(target)) return VA_STATUS_ERROR_INVALID_SURFACE;
    context(id)->target = target;
    if (context(id)->is_encoder) va_picture_begin(context(id)->picture);
    context(id)->is_idr = 0;
    return VA_STATUS_SUCCESS;
}

// Returns whether a NAL unit that begins with `first` is a slice of an IDR picture.
static int is_idr(const struct context *c, uint8_t first) {
    int type = c->is_hevc ? first >> 1 & 63 : first & 31;
    return c->is_hevc ? type == 19 || type == 20 : type == 5;
}

static VAStatus render_filter(struct context *c, const struct buffer *b) {
    const VAProcPipelineParameterBuffer *p = b->memory;
    const struct surface *s = surface(p->surface);
    const struct buffer *filter = p->num_filters ? buffer(p->filters[0]) : NULL;
    if (!s) return VA_STATUS_ERROR_INVALID_SURFACE;
    c->order = (int)s->number;
    if (!filter) return VA_STATUS_SUCCESS;
    unsigned flags = ((const VAProcFilterParameterBufferDeinterlacing *)filter->memory)->flags;
    int is_second = !(flags & VA_DEINTERLACING_BOTTOM_FIELD) != !(flags & VA_DEINTERLACING_BOTTOM_FIELD_FIRST);
    c->order = 2 * c->order - 1 + is_second;
    return VA_STATUS_SUCCESS;
}

static VAStatus render_picture(VADriverContextP driver, VAContextID id, VABufferID *list, int count) {
    struct context *c = context(id);
    if (!c) return VA_STATUS_ERROR_INVALID_CONTEXT;
    if (c->is_filter) return count == 1 && buffer(list[0]) ? render_filter(c, buffer(list[0])) : VA_STATUS_ERROR_INVALID_BUFFER;
    CALL("RenderPicture", VA_STATUS_ERROR_OPERATION_FAILED);
    for (int i = 0; i < count; i++) {
        struct buffer *b = buffer(list[i]);
        if (!b) return VA_STATUS_ERROR_INVALID_BUFFER;
        if (c->is_encoder) {
            if (!va_picture_add(c->picture, b->type, b->memory, b->size)) return VA_STATUS_ERROR_INVALID_PARAMETER;
            continue;
        }
        const uint8_t *bytes = b->memory;
        if (b->type == VAPictureParameterBufferType && c->is_hevc) c->order = ((VAPictureParameterBufferHEVC *)b->memory)->CurrPic.pic_order_cnt;
        if (b->type == VAPictureParameterBufferType && !c->is_hevc) {
            c->order = ((VAPictureParameterBufferH264 *)b->memory)->CurrPic.TopFieldOrderCnt / 2;
            c->is_interlaced = !((VAPictureParameterBufferH264 *)b->memory)->seq_fields.bits.frame_mbs_only_flag;
        }
        if (b->type != VASliceDataBufferType || !b->size || c->is_idr || !is_idr(c, bytes[0])) continue;
        c->is_idr = 1;
        c->idr = 1469598103934665603u;
        for (unsigned j = 0; j < b->size; j++) c->idr = (c->idr ^ bytes[j]) * 1099511628211u;
    }
    return VA_STATUS_SUCCESS;
}

static VAStatus encode(const struct context *c, const struct surface *s) {
    struct buffer *b = buffer(c->picture->coded);
    if (!b || b->type != VAEncCodedBufferType) return VA_STATUS_ERROR_INVALID_BUFFER;
    struct coded *coded = b->memory;
    uint8_t *bytes = (uint8_t *)b->memory + sizeof *coded;
    size_t size = va_picture_write(
        c->picture, c->width / 16, c->height / 16, s->memory, s->memory + (size_t)s->pitch * s->rows, s->pitch, bytes, b->size - sizeof *coded);
    if (!size) return VA_STATUS_ERROR_ENCODING_ERROR;
    coded->pieces[0] = (VACodedBufferSegment){.size = (uint32_t)(size / 2), .buf = bytes, .next = &coded->pieces[1]};
    coded->pieces[1] = (VACodedBufferSegment){.size = (uint32_t)(size - size / 2), .buf = bytes + size / 2};
    return VA_STATUS_SUCCESS;
}

static VAStatus end_picture(VADriverContextP driver, VAContextID id) {
    struct context *c = context(id);
    struct surface *s = c ? surface(c->target) : NULL;
    if (!s) return VA_STATUS_ERROR_INVALID_SURFACE;
    if (c->is_encoder) {
        if (++encoded == encoder_crash_at) __builtin_trap();
        while (encoded == encoder_hang_at) pause();
        CALL("EndPicture", VA_STATUS_ERROR_ENCODING_ERROR);
        return encode(c, s);
    }
    if (c->is_filter) {
        CALL("Filter", VA_STATUS_ERROR_OPERATION_FAILED);
        s->number = (unsigned)c->order;
        s->is_interlaced = 0;
    } else {
        if (c->is_idr) begin_idr(c);
        c->decoded++;
        if (crash_at > 0 && ++drawn == crash_at) __builtin_trap();
        CALL("EndPicture", VA_STATUS_ERROR_DECODING_ERROR);
        s->number = (unsigned)(c->base + c->order - c->idr_order + 1);
        s->is_interlaced = c->is_interlaced;
    }
    s->undrawn = 1;
    clock_gettime(CLOCK_MONOTONIC, &s->due);
    s->due.tv_nsec += delay * 1000L;
    s->due.tv_sec += s->due.tv_nsec / 1000000000;
    s->due.tv_nsec %= 1000000000;
    if (!delay) draw(s, s->number);
    return VA_STATUS_SUCCESS;
}

// ---- The filter

static VAStatus query_filters(VADriverContextP driver, VAContextID id, VAProcFilterType *list, unsigned *count) {
    (void)driver, (void)id;
    list[0] = VAProcFilterDeinterlacing;
    *count = 1;
    return VA_STATUS_SUCCESS;
}

static VAStatus query_filter(VADriverContextP driver, VAContextID id, VAProcFilterType type, void *list, unsigned *count) {
    (void)driver, (void)id;
    if (type != VAProcFilterDeinterlacing) return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
    ((VAProcFilterCapDeinterlacing *)list)[0].type = VAProcDeinterlacingBob;
    ((VAProcFilterCapDeinterlacing *)list)[1].type = VAProcDeinterlacingMotionAdaptive;
    *count = 2;
    return VA_STATUS_SUCCESS;
}

static VAStatus query_pipeline(VADriverContextP driver, VAContextID id, VABufferID *list, unsigned count, VAProcPipelineCaps *caps) {
    (void)driver, (void)id, (void)list, (void)count;
    memset(caps, 0, sizeof *caps);
    caps->num_forward_references = caps->num_backward_references = 1;
    return VA_STATUS_SUCCESS;
}

// ---- Images: copies of pictures

static const VAImageFormat nv12 = {.fourcc = VA_FOURCC_NV12, .byte_order = VA_LSB_FIRST, .bits_per_pixel = 12};

static VAStatus query_images(VADriverContextP driver, VAImageFormat *list, int *count) {
    (void)driver;
    list[0] = nv12;
    *count = 1;
    return VA_STATUS_SUCCESS;
}

static VAStatus add_image(VAImage *image, unsigned width, unsigned height, unsigned pitch, unsigned rows, void *memory, int borrowed) {
    *image = (VAImage){
        .format = nv12, .width = (uint16_t)width, .height = (uint16_t)height, .num_planes = 2, .pitches = {pitch, pitch},
        .offsets = {0, pitch * rows}, .data_size = pitch * rows * 3 / 2};
    VAStatus status = add_buffer(VAImageBufferType, image->data_size, 1, memory, borrowed, &image->buf);
    image->image_id = image->buf;
    return status;
}

static VAStatus create_image(VADriverContextP driver, VAImageFormat *format, int width, int height, VAImage *image) {
    (void)driver, (void)format;
    unsigned pitch = ((unsigned)width + 63) & ~63u, rows = ((unsigned)height + 1) & ~1u;
    return add_image(image, (unsigned)width, (unsigned)height, pitch, rows, calloc(pitch, rows * 3 / 2), 0);
}

static VAStatus derive_image(VADriverContextP driver, VASurfaceID id, VAImage *image) {
    CALL("DeriveImage", VA_STATUS_ERROR_OPERATION_FAILED);
    struct surface *s = surface(id);
    if (!s) return VA_STATUS_ERROR_INVALID_SURFACE;
    wait_for(s);
    return add_image(image, s->width, s->height, s->pitch, s->rows, s->memory, 1);
}

static VAStatus get_image(VADriverContextP driver, VASurfaceID id, int x, int y, unsigned width, unsigned height, VAImageID image) {
    CALL("GetImage", VA_STATUS_ERROR_OPERATION_FAILED);
    struct surface *s = surface(id);
    struct buffer *b = buffer(image);
    unsigned pitch = (width + 63) & ~63u, rows = (height + 1) & ~1u;
    if (!s || !b || x || y || width > s->width || height > s->height || pitch * rows * 3 / 2 > b->size) return VA_STATUS_ERROR_INVALID_PARAMETER;
    wait_for(s);
    for (unsigned row = 0; row < height; row++) memcpy((uint8_t *)b->memory + (size_t)row * pitch, s->memory + (size_t)row * s->pitch, width);
    for (unsigned row = 0; row < (height + 1) / 2; row++)
        memcpy((uint8_t *)b->memory + (size_t)(rows + row) * pitch, s->memory + (size_t)(s->rows + row) * s->pitch, width);
    return VA_STATUS_SUCCESS;
}

static VAStatus put_image(
    VADriverContextP driver, VASurfaceID id, VAImageID image, int x, int y, unsigned width, unsigned height, int to_x, int to_y, unsigned to_width,
    unsigned to_height) {
    CALL("PutImage", VA_STATUS_ERROR_OPERATION_FAILED);
    struct surface *s = surface(id);
    struct buffer *b = buffer(image);
    unsigned pitch = (width + 63) & ~63u, rows = (height + 1) & ~1u;
    if (!s || !b || x || y || to_x || to_y || width != to_width || height != to_height || width > s->width || height > s->height ||
        pitch * rows * 3 / 2 > b->size)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    for (unsigned row = 0; row < height; row++) memcpy(s->memory + (size_t)row * s->pitch, (uint8_t *)b->memory + (size_t)row * pitch, width);
    for (unsigned row = 0; row < (height + 1) / 2; row++)
        memcpy(s->memory + (size_t)(s->rows + row) * s->pitch, (uint8_t *)b->memory + (size_t)(rows + row) * pitch, width);
    return VA_STATUS_SUCCESS;
}

// ---- Entry points that libva requires of every driver and that libavcodec's decoders do not use

#define UNUSED(name, ...) \
    static VAStatus name(__VA_ARGS__) { return VA_STATUS_ERROR_UNIMPLEMENTED; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
UNUSED(put_surface, VADriverContextP d, VASurfaceID s, void *p, short a, short b, unsigned short c, unsigned short e, short f, short g, unsigned short h,
       unsigned short i, VARectangle *r, unsigned n, unsigned l)
UNUSED(set_palette, VADriverContextP d, VAImageID i, unsigned char *p)
UNUSED(query_subpictures, VADriverContextP d, VAImageFormat *f, unsigned *g, unsigned *n)
UNUSED(create_subpicture, VADriverContextP d, VAImageID i, VASubpictureID *s)
UNUSED(destroy_subpicture, VADriverContextP d, VASubpictureID s)
UNUSED(set_subpicture_image, VADriverContextP d, VASubpictureID s, VAImageID i)
UNUSED(set_chromakey, VADriverContextP d, VASubpictureID s, unsigned a, unsigned b, unsigned c)
UNUSED(set_alpha, VADriverContextP d, VASubpictureID s, float a)
UNUSED(associate, VADriverContextP d, VASubpictureID s, VASurfaceID *l, int n, short a, short b, unsigned short c, unsigned short e, short f, short g,
       unsigned short h, unsigned short i, unsigned j)
UNUSED(deassociate, VADriverContextP d, VASubpictureID s, VASurfaceID *l, int n)
UNUSED(query_attributes, VADriverContextP d, VADisplayAttribute *l, int *n)
UNUSED(get_display_attributes, VADriverContextP d, VADisplayAttribute *l, int n)

static struct VADriverVTable table;
static struct VADriverVTableVPP filters;
static struct VADriverVTableProt protection;
static struct VADriverContext driver;

// For players that preload it. KIOSK_TEST_VA_CONTEXTS=1 limits the device to one decoder. At exit the driver writes three
// numbers to the file KIOSK_TEST_VA_CALLS: contexts created, contexts refused, and pictures decoded.
__attribute__((constructor)) static void begin(void) {
    const char *count = getenv("KIOSK_TEST_VA_CONTEXTS");
    if (count) context_limit = atoi(count);
    const char *crash = getenv("KIOSK_TEST_VA_CRASH");
    if (crash) crash_at = atoi(crash);
    const char *film_crash = getenv("KIOSK_TEST_VA_FILM_CRASH"), *film_hang = getenv("KIOSK_TEST_VA_FILM_HANG");
    encoder_crash_at = film_crash ? atoi(film_crash) : 0;
    encoder_hang_at = film_hang ? atoi(film_hang) : 0;
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("KIOSK_TEST_VA_CALLS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%d %d %d\n", va_driver_calls("CreateContext") - refused, refused, va_driver_calls("EndPicture"));
    fclose(file);
}

static int is_valid(VADisplayContextP display) { return display->pDriverContext == &driver || display->pDriverContext == &calm; }

static struct VADisplayContext display = {.vadpy_magic = VA_DISPLAY_MAGIC, .pDriverContext = &driver, .vaIsValid = is_valid},
                               calm_display = {.vadpy_magic = VA_DISPLAY_MAGIC, .pDriverContext = &calm, .vaIsValid = is_valid};

EXPORTED VADisplay vaGetDisplayDRM(int fd) {
    struct stat found;
    if (!fstat(fd, &found) && S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 3)) return &display;
    if (!fstat(fd, &found) && S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 7)) return &calm_display;
    if (!fstat(fd, &found) && S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 5))
        for (;;) pause();
    VADisplay (*next)(int);
    *(void **)&next = dlsym(RTLD_NEXT, "vaGetDisplayDRM");
    return next ? next(fd) : NULL;
}

static void offer(struct VADriverContext *driver) {
    *driver = (struct VADriverContext){
        .vtable = &table, .vtable_vpp = &filters, .vtable_prot = &protection, .display_type = VA_DISPLAY_DRM,
        .version_major = VA_MAJOR_VERSION, .version_minor = VA_MINOR_VERSION, .max_profiles = 4, .max_entrypoints = 2, .max_attributes = 8,
        .max_image_formats = 1, .max_subpic_formats = 1, .max_display_attributes = 1, .str_vendor = "test driver"};
    filters.version = VA_DRIVER_VTABLE_VPP_VERSION;
    filters.vaQueryVideoProcFilters = query_filters;
    filters.vaQueryVideoProcFilterCaps = query_filter;
    filters.vaQueryVideoProcPipelineCaps = query_pipeline;
    table.vaTerminate = terminate;
    table.vaQueryConfigProfiles = query_profiles;
    table.vaQueryConfigEntrypoints = query_entrypoints;
    table.vaGetConfigAttributes = get_attributes;
    table.vaCreateConfig = create_config;
    table.vaDestroyConfig = destroy_config;
    table.vaQueryConfigAttributes = query_config;
    table.vaQuerySurfaceAttributes = query_surface;
    table.vaCreateSurfaces = create_surfaces;
    table.vaCreateSurfaces2 = create_surfaces2;
    table.vaDestroySurfaces = destroy_surfaces;
    table.vaSyncSurface = sync_surface;
    table.vaSyncBuffer = sync_buffer;
    table.vaQuerySurfaceStatus = query_status;
    table.vaExportSurfaceHandle = export_surface;
    table.vaCreateContext = create_context;
    table.vaDestroyContext = destroy_context;
    table.vaCreateBuffer = create_buffer;
    table.vaBufferSetNumElements = set_elements;
    table.vaMapBuffer = map_buffer;
    table.vaUnmapBuffer = unmap_buffer;
    table.vaDestroyBuffer = destroy_buffer;
    table.vaBeginPicture = begin_picture;
    table.vaRenderPicture = render_picture;
    table.vaEndPicture = end_picture;
    table.vaQueryImageFormats = query_images;
    table.vaCreateImage = create_image;
    table.vaDeriveImage = derive_image;
    table.vaDestroyImage = destroy_buffer;
    table.vaGetImage = get_image;
    table.vaPutSurface = put_surface;
    table.vaSetImagePalette = set_palette;
    table.vaPutImage = put_image;
    table.vaQuerySubpictureFormats = query_subpictures;
    table.vaCreateSubpicture = create_subpicture;
    table.vaDestroySubpicture = destroy_subpicture;
    table.vaSetSubpictureImage = set_subpicture_image;
    table.vaSetSubpictureChromakey = set_chromakey;
    table.vaSetSubpictureGlobalAlpha = set_alpha;
    table.vaAssociateSubpicture = associate;
    table.vaDeassociateSubpicture = deassociate;
    table.vaQueryDisplayAttributes = query_attributes;
    table.vaGetDisplayAttributes = get_display_attributes;
    table.vaSetDisplayAttributes = get_display_attributes;
}

EXPORTED VAStatus vaInitialize(VADisplay of, int *major, int *minor) {
    if (of == &display || of == &calm_display) {
        offer(of == &display ? &driver : &calm);
        *major = VA_MAJOR_VERSION;
        *minor = VA_MINOR_VERSION;
        return VA_STATUS_SUCCESS;
    }
    VAStatus (*next)(VADisplay, int *, int *);
    *(void **)&next = dlsym(RTLD_NEXT, "vaInitialize");
    return next ? next(of, major, minor) : VA_STATUS_ERROR_UNIMPLEMENTED;
}
