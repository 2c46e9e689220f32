/* direct.h: declarations that the director's files share. direct.c describes the director and its formats. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/types.h>

/* CLOCK_MONOTONIC in microseconds: the clock of the kernel's vblank times. */
long long now_us(void);

/* Prints the error to standard error, and ends the director. */
void fail(const char *what) __attribute__((noreturn));

/* The fake input devices (inputs.c). They drop events for an unplugged device, like a dead screen. */
enum input { TOUCH, KEYS };
void inputs_size(int width, int height);	/* of the touch screen, before it is plugged in */
void inputs_plug(enum input which);
void inputs_unplug(enum input which);
void touch_down(int finger, int x, int y);	/* fingers are 0 to 7, each in the slot of its number */
void touch_move(int finger, int x, int y);
void touch_up(int finger);
void key_change(int code, int pressed);

/* The player (player.c): one process with both its outputs on a pipe. */
struct player {
	pid_t pid;		/* 0 before the start and after the end */
	int output;		/* the director's end of the pipe; -1 if closed */
	FILE *log;		/* receives every line with the time it was complete: "US TEXT" */
	char line[4096];
	size_t used;
};
void player_start(struct player *p, char **command, int terminal, FILE *report);
void player_read(struct player *p);			/* after poll() says that output is readable */
void player_sample(const struct player *p, FILE *report);
int player_ended(struct player *p, FILE *report);	/* reaps it; 1 when it has ended */
void terminal_report(FILE *report);			/* writes the state of the console's terminal */
