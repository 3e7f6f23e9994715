// Macros that X11, Qt, <complex.h>, <sys/sysmacros.h> and <termios.h> define, in front of ours.
// SPDX-License-Identifier: MIT
#pragma once

#define I (__extension__ 1.0iF)
#define Success 0
#define Status int
#define Bool int
#define None 0L
#define Always 2
#define True 1
#define False 0
#define B0 0000000
#define ECHO 0000010
#define major(device) gnu_dev_major(device)
#define minor(device) gnu_dev_minor(device)
#define emit
#define signals public
#define slots
#define foreach(variable, container) for (variable : container)
#define forever for (;;)
#define Q_UNUSED(x) (void)x;
#define LOG(severity) severity
#define CHECK(condition) condition
#define assert_true(condition) condition
