// SPDX-License-Identifier: Apache-2.0
// picture_middle SHORTER HEIGHT WIDTH FILE OUT.npy …: the middles of pictures, for
// pictures_test.py.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "data/picture.h"
#include "nibble/core/npy.h"

int main(int argc, char** argv) {
  using namespace nibble;
  try {
    const MiddleOptions options{.shorter = std::atoll(argv[1]),
                                .height = std::atoll(argv[2]),
                                .width = std::atoll(argv[3])};
    for (int i = 4; i + 1 < argc; i += 2) {
      const Tensor picture = with_channels(read_picture(argv[i]), 3);
      write_npy(argv[i + 1], middle_of_picture(picture.view(), options).view());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
