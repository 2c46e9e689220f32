# Buildroot takes this folder as BR2_EXTERNAL: docs/packaging.md
include $(BR2_EXTERNAL_KIOSK_PATH)/package/kiosk/kiosk.mk
