// SPDX-License-Identifier: Apache-2.0
// MPI behind the communicator.
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // of Open MPI
#endif
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/device_memory.h"
#include "cluster/launcher.h"
#include "cluster/local.h"
#include "cluster/shared_board.h"
#include "nibble/cluster/world.h"
#include "nibble/core/error.h"

namespace nibble::inline cluster {
namespace {

// MPI counts in int, and its sums need a buffer as large as the message.
constexpr std::size_t kPieceBytes = std::size_t{1} << 22;
constexpr std::size_t kBoardAlignment = 64;

void check(std::string_view op, int code) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(op, std::string(text.data(), static_cast<std::size_t>(length)));
}

template <typename T, typename Action>
void in_pieces(std::span<T> values, const Action& act) {
  constexpr std::size_t kPiece = kPieceBytes / sizeof(T);
  for (std::size_t first = 0; first < values.size(); first += kPiece) {
    const auto piece = values.subspan(first, std::min(kPiece, values.size() - first));
    act(piece.data(), static_cast<int>(piece.size()));
  }
}

// MPI_Finalize waits for all ranks: where this one failed, the others would not come.
void finish(int code, void*) {
  if (code != 0) abort_world(code);
  MPI_Finalize();
}

// A host program that has initialized MPI itself also finalizes it.
void initialize() {
  int is_initialized = 0;
  check("mpi", MPI_Initialized(&is_initialized));
  if (is_initialized != 0) return;
  int level = MPI_THREAD_SINGLE;
  check("mpi", MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level));
  ::on_exit(finish, nullptr);
  if (level < MPI_THREAD_FUNNELED) {
    throw Error("mpi", "this MPI does not allow threads (MPI_THREAD_FUNNELED)");
  }
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(int launched) {
    initialize();
    // Our own copy: its messages and its way with errors do not meet the host program's.
    check("mpi", MPI_Comm_dup(MPI_COMM_WORLD, &comm_));
    check("mpi", MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
    check("mpi", MPI_Comm_rank(comm_, &rank_));
    check("mpi", MPI_Comm_size(comm_, &size_));
    // Another MPI's mpirun makes as many worlds of one.
    if (launched != 0 && launched != size_) {
      throw Error("mpi", "processes of the world; is mpirun of the MPI that nibble is built with?",
                  std::to_string(size_), std::to_string(launched));
    }
    // What ranks share holds no number of a GPU, and what they ask for they ask for alike.
    const std::optional<bool> asked = asked_for_device_memory();
    if (size_ > 1 && !asked.value_or(false)) share_memory();
    takes_device_memory_ = uses_device_memory(asked, mpi_takes_device_memory(), board_.has_value());
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool takes_device_memory() const override { return takes_device_memory_; }
  void sum(std::span<std::int32_t> values) override {
    if (board_) return board_->sum(values);
    reduce("sum", values, MPI_INT32_T, MPI_SUM);
  }
  void sum(std::span<std::int64_t> values) override {
    if (board_) return board_->sum(values);
    reduce("sum", values, MPI_INT64_T, MPI_SUM);
  }
  void start_sum(std::span<std::int32_t> values) override {
    if (board_) return board_->start_sum(values);
    sum(values);
  }
  void start_sum(std::span<std::int64_t> values) override {
    if (board_) return board_->start_sum(values);
    sum(values);
  }
  void finish_sums() override {
    if (board_) board_->finish();
  }
  void max(std::span<std::int64_t> values) override {
    if (board_) return board_->max(values);
    reduce("max", values, MPI_INT64_T, MPI_MAX);
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    check_root(root, size_);
    in_pieces(bytes, [&](std::byte* data, int count) {
      check("broadcast", MPI_Bcast(data, count, MPI_BYTE, root, comm_));
    });
  }

  void barrier() override { check("barrier", MPI_Barrier(comm_)); }

 private:
  // Ranks of one machine need no messages. Ranks of several machines would wait for some anyway,
  // and a machine may refuse the memory: then all sums go by messages.
  void share_memory() {
    MPI_Comm here = MPI_COMM_NULL;
    check("mpi", MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
    int ranks_here = 0;
    check("mpi", MPI_Comm_size(here, &ranks_here));
    const std::size_t bytes = SharedBoard::bytes_for(size_);
    if (all_have(ranks_here == size_)) {
      const std::size_t wanted = rank_ == 0 ? bytes + kBoardAlignment : 0;
      void* own = nullptr;
      const int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(wanted), 1, MPI_INFO_NULL,
                                               here, &own, &window_);
      if (all_have(code == MPI_SUCCESS)) board_.emplace(board_memory(bytes), rank_, size_);
    }
    check("mpi", MPI_Comm_free(&here));
  }

  // Of rank 0, as this process sees it; zero when all go on.
  std::byte* board_memory(std::size_t bytes) {
    MPI_Aint size = 0;
    int unit = 0;
    void* memory = nullptr;
    check("mpi", MPI_Win_shared_query(window_, 0, &size, &unit, &memory));
    auto room = static_cast<std::size_t>(size);
    std::align(kBoardAlignment, bytes, memory, room);
    if (rank_ == 0) std::memset(memory, 0, bytes);
    check("mpi", MPI_Barrier(comm_));
    return static_cast<std::byte*>(memory);
  }

  bool all_have(bool it) {
    int least = it ? 1 : 0;
    check("mpi", MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, comm_));
    return least == 1;
  }

  template <typename T>
  void reduce(std::string_view op, std::span<T> values, MPI_Datatype type, MPI_Op operation) {
    in_pieces(values, [&](T* data, int count) {
      check(op, MPI_Allreduce(MPI_IN_PLACE, data, count, type, operation, comm_));
    });
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  MPI_Win window_ = MPI_WIN_NULL;
  std::optional<SharedBoard> board_;  // where all ranks are on one machine
  bool takes_device_memory_ = false;
};

}  // namespace

Communicator& mpi_world(int launched) {
  static MpiCommunicator communicator(launched);
  return communicator;
}

bool mpi_takes_device_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)  // Open MPI
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  // Before that its fifth version does not know.
  if (is_initialized == 0 && MPIX_CUDA_AWARE_SUPPORT == 1) return true;
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)  // MPICH
  int is_supported = 0;
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is_supported) == MPI_SUCCESS &&
         is_supported != 0;
#else
  return false;
#endif
}

void abort_world(int code) {
  int is_initialized = 0;
  int is_finalized = 0;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  if (is_initialized == 0 || is_finalized != 0) return;
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, code);
}

}  // namespace nibble::inline cluster
