// television N DISPLAY ADDRESS [WORD…]   acts as a television at the HDMI cable of the kernel's vivid N.
//
// vivid has a CEC adapter at each end of its cable. The player sends by the adapter of the HDMI output. This program has the adapter of the
// HDMI input, and prints each message, one a line: "SECONDS FROM OPCODE [OPERAND…]". It omits reports of an address. It prints "unplugged"
// and "plugged" when it unplugs or plugs itself.
//
// It gives its EDID to the connector DISPLAY, such as Virtual-1. The EDID tells the player its ADDRESS: 1.0.0.0, 1.1.0.0 and so on, as
// vivid has only first inputs.
//
//   connector      the kernel says that the output's adapter belongs to DISPLAY
//   unread         the output's adapter does not learn its address from the EDID
//   unread=S       it learns it after S seconds
//   at=ADDRESS     it learns this address instead
//   unplugs        it unplugs itself in standby
//   asleep         it is in standby at first
//   deaf=N         it ignores the first N orders
//   mute           it does not answer
//   gone           there is only a cable and an EDID, no CEC
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/cec.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const char *display;
static int instance, input = -1, camera = -1, adapter = -1, deaf, answers = 1, unplugs, isUnplugged;
static unsigned address, known;

static void fail(const char *what) {
    fprintf(stderr, "television: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void write_to(const char *path, const void *bytes, size_t count) {
    int file = open(path, O_WRONLY);
    if (file < 0 || write(file, bytes, count) != (ssize_t)count) fail(path);
    close(file);
}

static unsigned parse(const char *text) {
    unsigned a, b, c, d;
    if (sscanf(text, "%x.%x.%x.%x", &a, &b, &c, &d) != 4) fail(text);
    return a << 12 | b << 8 | c << 4 | d;
}

// 1280x720 at 60 Hz, and the HDMI block with the physical address
static void make_edid(uint8_t *edid, unsigned place) {
    static const uint8_t base[128] = {
        0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x2e, 0x69, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x24, 0x01, 0x03, 0x80, 0x47, 0x28, 0x78, 0x0a,
        0xee, 0x91, 0xa3, 0x54, 0x4c, 0x99, 0x26, 0x0f, 0x50, 0x54, 0x00, 0x00, 0x00, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
        0x01, 0x01, 0x01, 0x01, 0x01, 0x1d, 0x00, 0x72, 0x51, 0xd0, 0x1e, 0x20, 0x6e, 0x28, 0x55, 0x00, 0xc4, 0x8e, 0x21, 0x00, 0x00, 0x1e, 0x00, 0x00, 0x00,
        0xfc, 0x00, 'T',  'e',  'l',  'e',  'v',  'i',  's',  'i',  'o',  'n',  '\n', ' ',  0x00, 0x00, 0x00, 0xfd, 0x00, 0x31, 0x4c, 0x0f, 0x51, 0x17, 0x00,
        0x0a, ' ',  ' ',  ' ',  ' ',  ' ',  ' ',  0x00, 0x00, 0x00, 0x10, [126] = 1,
    };
    const uint8_t hdmi[] = {0x02, 0x03, 0x0c, 0x00, 0x41, 0x04, 0x65, 0x03, 0x0c, 0x00, place >> 8, place & 255};
    memset(edid, 0, 256);
    memcpy(edid, base, sizeof base);
    memcpy(edid + 128, hdmi, sizeof hdmi);
    for (int block = 0; block < 256; block += 128)
        for (int i = 0; i < 127; i++) edid[block + 127] -= edid[block + i];
}

// vivid gives the output the first address below that of the input's EDID: 1.0.0.0 for 0.0.0.0, and 1.1.0.0 for 1.0.0.0
static void set_known(int isThere) {
    uint8_t bytes[256];
    unsigned last = 0xf;
    while (!(known & last)) last <<= 4;
    make_edid(bytes, known & ~last);
    struct v4l2_edid edid = {.pad = input, .blocks = isThere ? 2 : 0, .edid = bytes};
    if (ioctl(camera, VIDIOC_S_EDID, &edid)) fail("VIDIOC_S_EDID");
}

static void plug(int isIn) {
    printf("%.3f %s\n", seconds(), isIn ? "plugged" : "unplugged");
    isUnplugged = !isIn;
    set_known(isIn);
    char line[80];
    snprintf(line, sizeof line, "hotplug %s %d", isIn ? "on" : "off", atoi(strrchr(display, '-') + 1) - 1);
    if (system(line)) fail(line);
}

static void find(void) {
    char wanted[40], name[64], path[600];
    snprintf(wanted, sizeof wanted, "vivid-%03d-vid-cap", instance);
    glob_t found;
    if (glob("/sys/class/video4linux/video*", 0, NULL, &found)) fail("/sys/class/video4linux");
    for (size_t i = 0; i < found.gl_pathc && camera < 0; i++) {
        snprintf(path, sizeof path, "%s/name", found.gl_pathv[i]);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file) && !strncmp(name, wanted, strlen(wanted))) {
            snprintf(path, sizeof path, "/dev/%s", strrchr(found.gl_pathv[i], '/') + 1);
            camera = open(path, O_RDWR);
        }
        if (file) fclose(file);
    }
    if (camera < 0) fail(wanted);
    struct v4l2_input entry = {0};
    for (; input < 0 && !ioctl(camera, VIDIOC_ENUMINPUT, &entry); entry.index++)
        if (!strncmp((char *)entry.name, "HDMI", 4)) input = entry.index;
    if (input < 0) fail("its HDMI input");
    globfree(&found);

    strcat(wanted, "0");
    if (glob("/dev/cec*", 0, NULL, &found)) fail("/dev/cec*");
    for (size_t i = 0; i < found.gl_pathc && adapter < 0; i++) {
        struct cec_caps caps = {0};
        int device = open(found.gl_pathv[i], O_RDWR);
        if (device >= 0 && !ioctl(device, CEC_ADAP_G_CAPS, &caps) && !strcmp(caps.name, wanted))
            adapter = device;
        else
            close(device);
    }
    if (adapter < 0) fail(wanted);
}

static void connect_cable(void) {
    char wanted[40];
    snprintf(wanted, sizeof wanted, "HDMI %03d-0 Is Connected To", instance);
    struct v4l2_queryctrl control = {.id = V4L2_CTRL_FLAG_NEXT_CTRL};
    while (!ioctl(camera, VIDIOC_QUERYCTRL, &control) && strncmp((char *)control.name, wanted, 27)) control.id |= V4L2_CTRL_FLAG_NEXT_CTRL;
    snprintf(wanted, sizeof wanted, "Output HDMI %03d-0", instance);
    for (int i = control.minimum; i <= control.maximum; i++) {
        struct v4l2_querymenu item = {.id = control.id, .index = i};
        if (ioctl(camera, VIDIOC_QUERYMENU, &item) || strcmp((char *)item.name, wanted)) continue;
        struct v4l2_control set = {.id = control.id, .value = i};
        if (ioctl(camera, VIDIOC_S_CTRL, &set)) fail("VIDIOC_S_CTRL");
        return;
    }
    fail(wanted);
}

static void give_edid(void) {
    char path[100];
    uint8_t edid[256];
    make_edid(edid, address);
    snprintf(path, sizeof path, "/sys/kernel/debug/dri/0/%s/edid_override", display);
    write_to(path, edid, sizeof edid);
}

static void belong_to_connector(void) {
    char path[100], line[60];
    int id = 0;
    snprintf(path, sizeof path, "/sys/class/drm/card0-%s/connector_id", display);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d", &id) != 1) fail(path);
    fclose(file);
    int count = snprintf(line, sizeof line, "%d 0 %d", instance, id);
    write_to("/sys/module/vivid/parameters/cec_connector", line, count);
}

static void be_television(void) {
    struct cec_log_addrs addresses = {0};
    uint32_t mode = CEC_MODE_INITIATOR | CEC_MODE_EXCL_FOLLOWER;
    ioctl(adapter, CEC_ADAP_S_LOG_ADDRS, &addresses);
    addresses = (struct cec_log_addrs){.num_log_addrs = 1, .cec_version = CEC_OP_CEC_VERSION_1_4, .vendor_id = CEC_VENDOR_ID_NONE, .osd_name = "TV"};
    addresses.primary_device_type[0] = CEC_OP_PRIM_DEVTYPE_TV;
    addresses.log_addr_type[0] = CEC_LOG_ADDR_TYPE_TV;
    addresses.all_device_types[0] = CEC_OP_ALL_DEVTYPE_TV;
    if (ioctl(adapter, CEC_ADAP_S_LOG_ADDRS, &addresses) || addresses.log_addr[0] != CEC_LOG_ADDR_TV) fail("CEC_ADAP_S_LOG_ADDRS");
    if (ioctl(adapter, CEC_S_MODE, &mode)) fail("CEC_S_MODE");
}

static int heeds(void) { return deaf-- <= 0; }

int main(int count, char **arguments) {
    if (count < 4) return fprintf(stderr, "television N DISPLAY ADDRESS [WORD…]\n"), 64;
    int belongs = 0, gone = 0, power = CEC_OP_POWER_STATUS_ON;
    double readAt = 0;
    instance = atoi(arguments[1]);
    display = arguments[2];
    address = known = parse(arguments[3]);
    for (int i = 4; i < count; i++) {
        const char *word = arguments[i], *value = strchr(word, '=') ? strchr(word, '=') + 1 : "";
        if (!strcmp(word, "connector")) belongs = 1;
        else if (!strcmp(word, "unread")) readAt = 1e9;
        else if (!strncmp(word, "unread=", 7)) readAt = seconds() + atof(value);
        else if (!strcmp(word, "unplugs")) unplugs = 1;
        else if (!strcmp(word, "asleep")) power = CEC_OP_POWER_STATUS_STANDBY;
        else if (!strncmp(word, "deaf=", 5)) deaf = atoi(value);
        else if (!strcmp(word, "mute")) answers = 0;
        else if (!strcmp(word, "gone")) gone = 1;
        else if (!strncmp(word, "at=", 3)) known = parse(value);
        else return fprintf(stderr, "television: %s?\n", word), 64;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    find();
    set_known(0);
    connect_cable();
    if (!gone) be_television();
    give_edid();
    if (belongs) belong_to_connector();
    if (!readAt) set_known(1);
    for (;;) {
        double now = seconds();
        if (readAt && now >= readAt) readAt = 0, set_known(1);
        struct pollfd poller = {.fd = adapter, .events = POLLIN};
        if (poll(&poller, 1, readAt && readAt < 1e9 ? (int)((readAt - now) * 1000) + 1 : -1) <= 0) continue;
        struct cec_msg message = {.timeout = 1};
        if (ioctl(adapter, CEC_RECEIVE, &message)) continue;
        if (message.len < 2) continue;
        int from = message.msg[0] >> 4;
        if (message.msg[1] == CEC_MSG_REPORT_PHYSICAL_ADDR) continue;
        // The player may have sent this before the cable was out
        if (isUnplugged && message.msg[1] == CEC_MSG_GIVE_DEVICE_POWER_STATUS) continue;
        printf("%.3f %x", seconds(), from);
        for (unsigned i = 1; i < message.len; i++) printf(" %02x", message.msg[i]);
        printf("\n");
        switch (message.msg[1]) {
        case CEC_MSG_STANDBY:
            if (!heeds()) break;
            if (unplugs && power == CEC_OP_POWER_STATUS_ON) plug(0);
            power = CEC_OP_POWER_STATUS_STANDBY;
            break;
        case CEC_MSG_IMAGE_VIEW_ON:
            if (!heeds()) break;
            if (unplugs && power == CEC_OP_POWER_STATUS_STANDBY) plug(1);
            power = CEC_OP_POWER_STATUS_ON;
            break;
        case CEC_MSG_GIVE_DEVICE_POWER_STATUS:
            if (!answers) break;
            struct cec_msg answer = {.len = 3, .msg = {from, CEC_MSG_REPORT_POWER_STATUS, power}};
            ioctl(adapter, CEC_TRANSMIT, &answer);
            break;
        }
    }
}
