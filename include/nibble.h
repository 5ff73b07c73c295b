/* SPDX-License-Identifier: Apache-2.0 */
/* The engine for C99 and for whatever can call C: load an integer network once, then run batches.
 *
 *   nibble_engine* engine = nibble_load("model.nib", 1, 0);
 *   if (engine == NULL || nibble_run(engine, picture, 1, answer) != 0) puts(nibble_last_error());
 *   nibble_free(engine);
 *
 * No C++ exception leaves these functions. All of them may be called from any number of threads at
 * once, nibble_free alone not while its engine is used. A null engine has null names and values,
 * and 0 bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A loaded network. */
typedef struct nibble_engine nibble_engine;

/* How the numbers of a value lie in memory; int32 in the order of the machine. */
typedef enum nibble_type { NIBBLE_INT8 = 0, NIBBLE_UINT8 = 1, NIBBLE_INT32 = 2 } nibble_type;

/* One example of what enters or leaves, dense, row-major: (height, width, channels) or (features).
 * Whatever it points to lives as long as the engine. Later versions may add fields at the end. */
typedef struct nibble_value {
  const char* name;     /* of the layer */
  nibble_type type;     /* the smallest that holds low + zero and high + zero */
  int32_t rank;         /* numbers in shape */
  const int64_t* shape; /* without the batch */
  int64_t elements;     /* the product of shape */
  size_t bytes;         /* of all elements */
  int64_t low;          /* no number is below; an input that is, is refused */
  int64_t high;         /* nor above */
  int64_t zero;         /* memory holds number + zero: an input's zero point; else 0 */
} nibble_value;

/* Loads a .nib model. Batches above max_batch (1 to 65536) run in pieces: it decides how much
 * memory a run takes. threads of one run; 0: OMP_NUM_THREADS, else all cores. NULL: it failed, and
 * nibble_last_error() says why. */
nibble_engine* nibble_load(const char* path, int64_t max_batch, int threads);

/* As nibble_load, on a device: "cpu", "reference" (the definitions, slowly), "cuda" or "cuda:1"
 * where the build has it, "check(cpu,reference)" (both; a run fails at the first difference). The
 * integers do not depend on it. */
nibble_engine* nibble_load_on(const char* device, const char* path, int64_t max_batch, int threads);

/* What an engine is loaded with. Of all fields but the first 0 and NULL stand for what is usual. */
typedef struct nibble_options {
  size_t bytes;       /* sizeof(nibble_options): later versions may add fields at the end */
  const char* device; /* as nibble_load_on has it; usual: "cpu" */
  int64_t max_batch;  /* usual: 1 */
  int threads;        /* of one run; usual: OMP_NUM_THREADS, else all cores */
  int lanes;          /* submitted batches that run at a time, each by its threads; usual: 1 */
} nibble_options;

/* As nibble_load. NULL options: all is as usual. */
nibble_engine* nibble_load_with(const char* path, const nibble_options* options);

/* Makes "cuda" known to nibble_load_on and nibble_load_with: of the library nibble_engine_cuda,
 * which brings CUDA's runtime along. Once, before the first engine on a GPU. Input and output of
 * its runs may lie in memory of the host or of that GPU. */
void nibble_use_cuda(void);

/* What files may ask for from now on, in all threads: "memory=8G,macs=1000000000", those that are
 * not named as they were; NULL or "": the defaults. docs/limits.md has them all. 0: done; otherwise
 * nibble_last_error() says what is wrong, and nothing changes. */
int nibble_set_limits(const char* limits);

/* Frees an engine and all that came from it, when what was submitted has ended; in `done`, all but
 * that batch. NULL is allowed. */
void nibble_free(nibble_engine* engine);

/* The name that the network was given; it may be empty. */
const char* nibble_name(const nibble_engine* engine);

/* What nibble_run takes. */
const nibble_value* nibble_input(const nibble_engine* engine);

/* What nibble_run gives. */
const nibble_value* nibble_output(const nibble_engine* engine);

/* Bytes of all weights as they lie in memory. */
size_t nibble_weight_bytes(const nibble_engine* engine);

/* Bytes of all values of one run of max_batch examples; each run at a time has its own. */
size_t nibble_arena_bytes(const nibble_engine* engine);

/* Runs `batch` (1 or more) examples: reads batch * nibble_input(engine)->bytes from `input` and
 * writes batch * nibble_output(engine)->bytes to `output`, which must not overlap. The answer for
 * an example depends on that example alone. 0: done; otherwise nibble_last_error() says what
 * failed, and what `output` holds is not defined. */
int nibble_run(const nibble_engine* engine, const void* input, int64_t batch, void* output);

/* Memory that runs of this engine read and write fastest. NIBBLE_HOST: of the host, pinned where
 * the engine is on a GPU. NIBBLE_DEVICE: the GPU's own, which programs fill and read by
 * nibble_copy; where the engine is on no GPU, the host's. Runs take any other memory, too. */
typedef enum nibble_place { NIBBLE_HOST = 0, NIBBLE_DEVICE = 1 } nibble_place;

/* So many bytes (1 or more) in a nibble_place; NULL: it failed, and nibble_last_error() says why.
 */
void* nibble_allocate(nibble_engine* engine, size_t bytes, int place);

/* Gives back what nibble_allocate gave, when no run uses it; NULL is allowed. What was not given
 * back goes with its engine. 0: done; otherwise nibble_last_error() says why not. */
int nibble_release(nibble_engine* engine, void* memory);

/* Copies, and waits for it. At least one side lies, whole, in what nibble_allocate gave; the other
 * there as well or in memory of the host. 0: done; otherwise nibble_last_error() says why not. */
int nibble_copy(const nibble_engine* engine, void* to, const void* from, size_t bytes);

/* Called once for a submitted batch, by a thread of the engine's: `error` is NULL, or one line that
 * is good until the call returns. It may submit, and free the engine, which then runs what else was
 * submitted first. */
typedef void (*nibble_done)(void* context, const char* error);

/* As nibble_run, without waiting: `input` and `output` must live until `done(context, error)` is
 * called. Any number of batches may be on their way; they run in the order in which they came.
 * 0: submitted; otherwise nibble_last_error() says why not, and `done` is not called. */
int nibble_submit(const nibble_engine* engine, const void* input, int64_t batch, void* output,
                  nibble_done done, void* context);

/* One line about the last failure of a call in this thread; empty where there was none. It stays
 * until the next failure, and the pointer is good until the thread ends. */
const char* nibble_last_error(void);

/* The version of the library, "major.minor.patch". */
const char* nibble_version(void);

#ifdef __cplusplus
}
#endif
