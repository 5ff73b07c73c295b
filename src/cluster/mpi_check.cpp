// SPDX-License-Identifier: Apache-2.0
// Checks the world under mpirun: sums, maxima and broadcasts against what every rank can compute.
//
//   mpirun -n N mpi_check N        exit code 0 where all is right
//   mpirun -n N mpi_check N HOW    the last rank fails in this way while the others wait for it
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/cluster/world.h"
#include "nibble/core/error.h"

namespace nibble::inline cluster {
namespace {

// None, few, and more than one message of MPI with a rest.
constexpr std::size_t kSizes[] = {0, 1, 7, 4099, (std::size_t{1} << 20) + 3, 2'500'001};

void expect(bool is_right, std::string_view what) {
  if (!is_right) throw Error("mpi_check", what);
}

// What a rank holds at an index: an eighth of the type's range, so that eight ranks fit.
template <typename T>
T held(int rank, std::size_t index) {
  std::uint64_t bits = (index + 1) * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(rank + 1);
  bits = (bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9U;
  return static_cast<T>(static_cast<T>(bits >> 16U) / 8);
}

template <typename T>
std::vector<T> all_held(int rank, std::size_t size) {
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = held<T>(rank, i);
  return values;
}

template <typename T, typename Fold>
std::vector<T> folded(int ranks, std::size_t size, const Fold& fold) {
  auto values = all_held<T>(0, size);
  for (int rank = 1; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < size; ++i) values[i] = fold(values[i], held<T>(rank, i));
  }
  return values;
}

template <typename T>
void check_sums(Communicator& all, std::string_view what) {
  for (const std::size_t size : kSizes) {
    auto values = all_held<T>(all.rank(), size);
    all.sum(values);
    const auto plus = [](T a, T b) { return static_cast<T>(a + b); };
    expect(values == folded<T>(all.size(), size, plus), what);
  }
  // The ends of the range, from one rank alone.
  const bool is_last = all.rank() == all.size() - 1;
  std::vector<T> ends = {is_last ? std::numeric_limits<T>::min() : T{0},
                         is_last ? std::numeric_limits<T>::max() : T{0}};
  all.sum(ends);
  expect(ends[0] == std::numeric_limits<T>::min() && ends[1] == std::numeric_limits<T>::max(),
         what);
}

void check_maxima(Communicator& all) {
  for (const std::size_t size : kSizes) {
    auto values = all_held<std::int64_t>(all.rank(), size);
    all.max(values);
    const auto larger = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
    expect(values == folded<std::int64_t>(all.size(), size, larger), "max");
  }
  std::vector<std::int64_t> below = {-5 - all.rank(), INT64_MIN};
  all.max(below);
  expect(below[0] == -5 && below[1] == INT64_MIN, "max of negative values");
}

void check_broadcasts(Communicator& all) {
  for (int root = 0; root < all.size(); ++root) {
    for (const std::size_t size : kSizes) {
      auto values = all_held<std::int64_t>(all.rank(), size);
      all.broadcast(std::as_writable_bytes(std::span(values)), root);
      expect(values == all_held<std::int64_t>(root, size), "broadcast");
    }
  }
  for (const int root : {-1, all.size()}) {
    bool is_refused = false;
    try {
      all.broadcast({}, root);
    } catch (const Error&) {
      is_refused = true;
    }
    expect(is_refused, "broadcast from a rank that is not there");
  }
}

void check_all(Communicator& all) {
  check_sums<std::int32_t>(all, "sum of 32-bit integers");
  check_sums<std::int64_t>(all, "sum of 64-bit integers");
  check_maxima(all);
  check_broadcasts(all);
  all.barrier();
}

int fail(Communicator& all, std::string_view how) {
  std::vector<std::byte> bytes(64);
  if (all.rank() == all.size() - 1) {
    if (how == "return") return 3;
    if (how == "abort") abort_world(3);
    if (how == "leave") ::_exit(3);
    if (how == "kill") ::raise(SIGKILL);
    if (how == "size") bytes.resize(8);  // an error of MPI where two ranks meet, else a hang
  }
  all.broadcast(bytes, 0);
  all.barrier();
  return 0;
}

}  // namespace
}  // namespace nibble::inline cluster

int main(int argc, char** argv) {
  try {
    nibble::Communicator& all = nibble::world();
    nibble::expect(argc > 1 && std::to_string(all.size()) == argv[1], "size of the world");
    nibble::expect(&all == &nibble::world(), "one world");
    if (argc > 2) return nibble::fail(all, argv[2]);
    nibble::check_all(all);
  } catch (const nibble::Error& error) {
    std::fprintf(stderr, "mpi_check: %s\n", error.what());
    return 1;
  }
  return 0;
}
