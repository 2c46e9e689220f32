#!/usr/bin/env python3
# year.py START END STEP   when rules begin and end to hold, found by looking at each STEPth second from START until END (seconds since 1970): a second opinion
# on Sources/Schedule, by other means. A rule a line on standard input: ZONE|DAYS|HOURS|FROM|UNTIL; a line each comes back: 1 or 0 for the start, then the changes.
import sys
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

start, end, step = map(int, sys.argv[1:])
NAMES = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
clocks = {}


def clock(zone):
    if zone not in clocks:
        there = ZoneInfo(zone)
        clocks[zone] = [datetime.fromtimestamp(second, there) for second in range(start, end, step)]
    return clocks[zone]


def weekdays(text):
    days = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        day = NAMES.index(first)
        days.add(day)
        while last and NAMES[day] != last:
            day = (day + 1) % 7
            days.add(day)
    return days


def spans(text):
    found = []
    for part in text.split(","):
        begin, finish = (sum(int(n) * f for n, f in zip(t.split(":"), (60, 1))) for t in part.strip().split("-"))
        found.append((begin, finish if finish > begin else finish + 1440))
    return found


def within(day, first, last):
    if first and len(first) == 10:
        return date.fromisoformat(first) <= day and (not last or day <= date.fromisoformat(last))
    if last and len(last) == 10:
        return day <= date.fromisoformat(last)
    key = f"{day.month:02}-{day.day:02}"
    if first and last and last < first:
        return key >= first or key <= last
    return (not first or key >= first) and (not last or key <= last)


for line in sys.stdin:
    zone, days, hours, first, last = line.rstrip("\n").split("|")
    allowed = weekdays(days) if days else set(range(7))
    parts = spans(hours) if hours else [(0, 1440)]
    starts = {}

    def begins(day):
        if day not in starts:
            starts[day] = day.weekday() in allowed and within(day, first, last)
        return starts[day]

    state, changes = None, []
    for index, now in enumerate(clock(zone)):
        minute, today = now.hour * 60 + now.minute, now.date()
        on = begins(today) and any(a <= minute < b for a, b in parts)
        if not on and begins(today - timedelta(days=1)):
            on = any(a <= minute + 1440 < b for a, b in parts)
        if on != state:
            changes.append(int(on) if state is None else start + index * step)
            state = on
    print(*changes)
