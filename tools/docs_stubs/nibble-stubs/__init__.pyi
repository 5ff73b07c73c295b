# SPDX-License-Identifier: Apache-2.0
# What the reference tells of the extensions, which need not be built for it: python/tests/test_stubs.py compares it with them.
