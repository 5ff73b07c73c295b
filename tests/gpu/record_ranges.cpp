// SPDX-License-Identifier: Apache-2.0
// In the place of Nsight Systems: a library that NVTX loads where NVTX_INJECTION64_PATH names it.
// It writes the ranges of the host into the file NIBBLE_RANGES, a line each: ">", the thread and
// the name where one begins, "<" and the thread where one ends.
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

std::FILE* file() {
  static std::FILE* const opened = std::fopen(std::getenv("NIBBLE_RANGES"), "w");
  return opened;
}

int begin(const char* name) {
  std::fprintf(file(), "> %d %s\n", gettid(), name);
  return 0;
}

int end() {
  std::fprintf(file(), "< %d\n", gettid());
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t table_of) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned int count = 0;
  if (file() == nullptr || callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &count) == 0 ||
      count <= NVTX_CBID_CORE_RangePop)
    return 0;
  *functions[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(begin);
  *functions[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(end);
  return 1;
}
