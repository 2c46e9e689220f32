// libevdev and the input event codes. _GNU_SOURCE must not be defined here: fd_set would then differ from Glibc's and the
// whole module would be refused.
#pragma once
#include <libevdev/libevdev.h>
#include <linux/input.h>
