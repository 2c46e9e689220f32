################################################################################
#
# kiosk
#
################################################################################

# This installs the lean package for Debian 13 of a release, for amd64 or arm64.
# docs/packaging.md has the steps. Nothing is compiled here: Buildroot has no
# Swift, and its FFmpeg (6.1 in 2026.08) is not the one of the package, so the
# package has to have its own. Other libraries are Buildroot's; they have the
# names that Debian 13 has, and glibc is to be 2.41 or newer.
#
# Why not Yocto: it has no Swift either, and takes a foreign binary only past
# its checks (INSANE_SKIP); this is the shorter of the two.
#
# Tried, with Buildroot 2026.08-rc1: utils/check-package, the configuration for
# x86_64 and aarch64, the download, extraction and installation into target,
# with a package for Debian 12 and Debian's FFmpeg laid into it. Not tried: a
# whole image, and the player on one.

KIOSK_DEB = $(call qstrip,$(BR2_PACKAGE_KIOSK_DEB))
KIOSK_VERSION = $(word 2,$(subst _, ,$(notdir $(KIOSK_DEB))))
KIOSK_SITE = $(patsubst %/,%,$(dir $(KIOSK_DEB)))
KIOSK_SITE_METHOD = file
KIOSK_SOURCE = $(notdir $(KIOSK_DEB))
# The file is the user's, and its hash is in SHA256SUMS of the release
BR_NO_CHECK_HASH_FOR += $(KIOSK_SOURCE)
KIOSK_LICENSE = Apache-2.0, LGPL-3.0+ (FFmpeg)
KIOSK_LICENSE_FILES = usr/share/doc/kiosk/copyright
KIOSK_DEPENDENCIES = \
	alsa-lib dav1d fontconfig gnutls libdrm libevdev libva pango systemd \
	zlib

ifeq ($(BR2_PACKAGE_KIOSK)$(BR_BUILDING),yy)
ifeq ($(filter %.deb,$(KIOSK_SOURCE)),)
$(error BR2_PACKAGE_KIOSK_DEB is to be the path of a .deb, not "$(KIOSK_DEB)")
endif
ifeq ($(findstring +lean,$(KIOSK_SOURCE)),)
$(error BR2_PACKAGE_KIOSK_DEB is to be the lean package: Buildroot does not \
	have the FFmpeg that $(KIOSK_SOURCE) needs)
endif
ifeq ($(filter %_$(if $(BR2_aarch64),arm64,amd64).deb,$(KIOSK_SOURCE)),)
$(error BR2_PACKAGE_KIOSK_DEB is to be for $(call qstrip,$(BR2_ARCH)), and $(KIOSK_SOURCE) \
	is not)
endif
endif

define KIOSK_EXTRACT_CMDS
	ar p $(KIOSK_DL_DIR)/$(KIOSK_SOURCE) data.tar.xz | \
		$(TAR) -xJ --no-same-owner -C $(@D)
endef

KIOSK_CONF = $(or $(call qstrip,$(BR2_PACKAGE_KIOSK_CONF)),$(@D)/etc/kiosk/kiosk.conf)

define KIOSK_INSTALL_TARGET_CMDS
	for file in bin/kiosk lib/kiosk lib/sysusers.d/kiosk.conf \
		lib/udev/rules.d/70-kiosk.rules share/kiosk; do \
		mkdir -p $(TARGET_DIR)/usr/$${file%/*} || exit 1; \
		rm -rf $(TARGET_DIR)/usr/$$file || exit 1; \
		cp -a $(@D)/usr/$$file $(TARGET_DIR)/usr/$$file || exit 1; \
	done
	$(INSTALL) -D -m 640 $(KIOSK_CONF) \
		$(TARGET_DIR)/etc/kiosk/kiosk.conf
endef

# Buildroot enables both, as it does all services
define KIOSK_INSTALL_INIT_SYSTEMD
	$(INSTALL) -D -m 644 -t $(TARGET_DIR)/usr/lib/systemd/system \
		$(@D)/usr/lib/systemd/system/kiosk.service \
		$(@D)/usr/lib/systemd/system/kiosk.path \
		$(@D)/usr/lib/systemd/system/kiosk-usb@.service
endef

define KIOSK_USERS
	- - input -1 * - - - Input devices
	kiosk -1 kiosk -1 * - - video,render,audio,input Kiosk video player
endef

# Passwords may stand in it: root and the player read it
define KIOSK_PERMISSIONS
	/etc/kiosk/kiosk.conf f 640 0 kiosk - - - - -
endef

# The sandbox of the processes that read media
define KIOSK_LINUX_CONFIG_FIXUPS
	$(call KCONFIG_ENABLE_OPT,CONFIG_SECCOMP_FILTER)
	$(call KCONFIG_ENABLE_OPT,CONFIG_SECURITY)
	$(call KCONFIG_ENABLE_OPT,CONFIG_SECURITY_LANDLOCK)
endef

$(eval $(generic-package))
