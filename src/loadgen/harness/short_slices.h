// SPDX-License-Identifier: Apache-2.0
// LoadGen asks Server's queries in a thread that sleeps between them. Where lanes keep every
// processor busy, Linux lets it sleep on until a lane's time slice is over: 3 ms too long in one
// case of a hundred, for which the system answers.
#pragma once

namespace nibble::inline loadgen {

// Gives the calling thread time slices of a tenth of a millisecond, shorter than others': from
// Linux 6.12 on it then runs as soon as it wakes. Elsewhere nothing changes.
void take_short_slices();

}  // namespace nibble::inline loadgen
