#include "cdisplay.h"

#include <errno.h>
#include <linux/cec.h>
#include <string.h>

int kiosk_cec_look(int adapter, int *takes_address, int *card, uint32_t *connector) {
    struct cec_caps caps = {0};
    if (ioctl(adapter, CEC_ADAP_G_CAPS, &caps) != 0) return -1;
    if (!(caps.capabilities & CEC_CAP_TRANSMIT)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    *takes_address = (caps.capabilities & CEC_CAP_PHYS_ADDR) != 0;
    *card = -1;
    *connector = 0;
#ifdef CEC_ADAP_G_CONNECTOR_INFO
    struct cec_connector_info info = {0};
    if (ioctl(adapter, CEC_ADAP_G_CONNECTOR_INFO, &info) == 0 && info.type == CEC_CONNECTOR_TYPE_DRM) {
        *card = (int)info.drm.card_no;
        *connector = info.drm.connector_id;
    }
#endif
    return 0;
}

int kiosk_cec_get_address(int adapter, uint16_t *address) { return ioctl(adapter, CEC_ADAP_G_PHYS_ADDR, address); }
int kiosk_cec_set_address(int adapter, uint16_t address) { return ioctl(adapter, CEC_ADAP_S_PHYS_ADDR, &address); }

int kiosk_cec_claim(int adapter, const char *name, uint8_t *logical) {
    struct cec_log_addrs addresses = {0};
    if (ioctl(adapter, CEC_ADAP_G_LOG_ADDRS, &addresses) != 0) return -1;
    if (addresses.num_log_addrs == 0) {
        addresses = (struct cec_log_addrs){.num_log_addrs = 1, .cec_version = CEC_OP_CEC_VERSION_1_4, .vendor_id = CEC_VENDOR_ID_NONE};
        addresses.primary_device_type[0] = CEC_OP_PRIM_DEVTYPE_PLAYBACK;
        addresses.log_addr_type[0] = CEC_LOG_ADDR_TYPE_PLAYBACK;
        addresses.all_device_types[0] = CEC_OP_ALL_DEVTYPE_PLAYBACK;
        strncpy(addresses.osd_name, name, sizeof addresses.osd_name - 1);
        if (ioctl(adapter, CEC_ADAP_S_LOG_ADDRS, &addresses) != 0) return -1;
    }
    // Another program may have made the adapter a television, too. From that address (0) the kernel sends nothing to a television.
    for (int i = 0; i < addresses.num_log_addrs && i < CEC_MAX_LOG_ADDRS; i++)
        if (addresses.log_addr[i] > CEC_LOG_ADDR_TV && addresses.log_addr[i] < CEC_LOG_ADDR_UNREGISTERED) {
            *logical = addresses.log_addr[i];
            return 0;
        }
    errno = EADDRNOTAVAIL;
    return -1;
}

int kiosk_cec_send(int adapter, const uint8_t *message, int count, uint8_t reply, uint8_t *answer) {
    if (count < 1 || count > CEC_MAX_MSG_SIZE) {
        errno = EINVAL;
        return -1;
    }
    struct cec_msg msg = {.len = (uint32_t)count, .reply = reply, .timeout = reply ? 1000 : 0};
    memcpy(msg.msg, message, (size_t)count);
    if (ioctl(adapter, CEC_TRANSMIT, &msg) != 0) return -1;
    // No device acknowledges a broadcast.
    if (!(msg.tx_status & CEC_TX_STATUS_OK) && (message[0] & 0xf) != 0xf) {
        errno = EREMOTEIO;
        return -1;
    }
    if (!reply) return 0;
    if (!(msg.rx_status & CEC_RX_STATUS_OK) || (msg.rx_status & CEC_RX_STATUS_FEATURE_ABORT) || msg.len < 3) {
        errno = ETIME;
        return -1;
    }
    *answer = msg.msg[2];
    return 0;
}
