/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/rows.h"

#include "trace/trace.h"

/* One line of a field: what it is, its name, and for a row the array that it is of. */
#define FIELD(field, kind, of)                                                                     \
    {                                                                                              \
        offsetof(OF, field), sizeof(((OF *)0)->field), kind, of, 1                                 \
    }
#define NUMBER(field)       FIELD(field, LPO_FIELD_NUMBER, 0)
#define ONE_OF(field, most) FIELD(field, LPO_FIELD_NUMBER, (most) + 1)
#define FLAG(field)         ONE_OF(field, 1)
#define MOMENT(field)       FIELD(field, LPO_FIELD_MOMENT, 0)
#define END(field)          FIELD(field, LPO_FIELD_END, 0)
#define NAME(field)         FIELD(field, LPO_FIELD_NAME, 0)
#define NAME_IF(field)      FIELD(field, LPO_FIELD_NAME_IF, 0)
#define GRAPH(field)        FIELD(field, LPO_FIELD_GRAPH, 0)
#define ROW(field, of)      FIELD(field, LPO_FIELD_ROW, LPO_ROWS_##of)
#define ROW_IF(field, of)   FIELD(field, LPO_FIELD_ROW_IF, LPO_ROWS_##of)
#define ROW_PLUS(field, of) FIELD(field, LPO_FIELD_ROW_PLUS, LPO_ROWS_##of)
#define NUMBERS(field)                                                                             \
    {                                                                                              \
        offsetof(OF, field), sizeof(((OF *)0)->field[0]), LPO_FIELD_NUMBER, 0,                     \
            sizeof(((OF *)0)->field) / sizeof(((OF *)0)->field[0])                                 \
    }

/* clang-format off */
#define OF struct lpo_process
static const struct lpo_row_field processes[] = {
    NUMBER(pid), NUMBER(rank), NAME_IF(name), MOMENT(end_ns), FLAG(has_calls), FLAG(cut_short),
};
#undef OF

#define OF struct lpo_thread
static const struct lpo_row_field threads[] = {
    NUMBER(tid), NAME_IF(name), ROW(process, PROCESSES),
};
#undef OF

#define OF struct lpo_device
static const struct lpo_row_field devices[] = {
    NUMBER(id), NUMBER(rank), NAME_IF(name), NUMBER(sms), NUMBER(cc_major), NUMBER(cc_minor),
    NUMBER(memory_bytes), NUMBER(l2_bytes), NUMBER(sm_clock_khz), NUMBER(mem_clock_khz),
    NUMBER(bus_bits), NUMBERS(uuid),
};
#undef OF

static const struct lpo_row_field domains[] = { { 0, sizeof(uint32_t), LPO_FIELD_NAME, 0, 1 } };

#define OF struct lpo_shape
static const struct lpo_row_field shapes[] = {
    NUMBERS(grid), NUMBERS(block), NUMBER(registers), NUMBER(static_smem), NUMBER(dynamic_smem),
};
#undef OF

#define OF struct lpo_op_args
static const struct lpo_row_field op_args[] = {
    NAME_IF(dims), NAME_IF(types), NAME_IF(values),
};
#undef OF

#define OF struct lpo_frame
static const struct lpo_row_field frames[] = {
    NAME(name), ROW(domain, DOMAINS), ONE_OF(kind, LPO_PYTHON), NUMBER(visit),
};
#undef OF

#define OF struct lpo_stack
static const struct lpo_row_field stacks[] = {
    ROW(first, FRAMES), NUMBER(count),
};
#undef OF

#define OF struct lpo_metric
static const struct lpo_row_field metrics[] = {
    NAME(name), NAME_IF(unit), ONE_OF(combine, LPO_FIRST), FLAG(sampled), NUMBER(meaning),
};
#undef OF

#define OF struct lpo_path
static const struct lpo_row_field paths[] = {
    NUMBER(count), NUMBER(host_ns), NUMBER(child_ns), ROW_IF(parent, PATHS), NAME(name),
    ROW(thread, THREADS), NUMBER(path_bytes), ROW(domain, DOMAINS), NUMBER(depth),
};
#undef OF

#define OF struct lpo_open_path
static const struct lpo_row_field open_paths[] = {
    MOMENT(start_ns), ROW(path, PATHS), ROW_IF(around, PATHS),
};
#undef OF

#define OF struct lpo_capture
static const struct lpo_row_field captures[] = {
    MOMENT(ns), ROW_IF(thread, THREADS), ROW_PLUS(path, PATHS), ROW_PLUS(stack, STACKS),
};
#undef OF

#define OF struct lpo_launch
static const struct lpo_row_field launches[] = {
    MOMENT(start_ns), END(end_ns), ROW(thread, THREADS), ROW_PLUS(path, PATHS), NAME(name),
};
#undef OF

#define OF struct lpo_api_call
static const struct lpo_row_field calls[] = {
    MOMENT(start_ns), END(end_ns), NAME(name), ROW(thread, THREADS),
};
#undef OF

#define OF struct lpo_python_call
static const struct lpo_row_field python[] = {
    MOMENT(start_ns), END(end_ns), NAME(name), ROW(thread, THREADS),
};
#undef OF

#define OF struct lpo_captured_launch
static const struct lpo_row_field captured_launches[] = {
    MOMENT(start_ns), END(end_ns), ROW(thread, THREADS), GRAPH(graph), NAME_IF(kernel),
};
#undef OF

#define OF struct lpo_mark
static const struct lpo_row_field marks[] = {
    MOMENT(ns), NAME(name), ROW(thread, THREADS),
};
#undef OF

#define OF struct lpo_range_number
static const struct lpo_row_field range_numbers[] = {
    NAME(name), ROW(domain, DOMAINS), NUMBER(count), NUMBER(sum), NUMBER(least), NUMBER(most),
};
#undef OF

#define OF struct lpo_number
static const struct lpo_row_field numbers[] = {
    NAME_IF(name), ROW_IF(capture, CAPTURES), NAME_IF(range), ROW(domain, DOMAINS), NUMBER(count),
    NUMBER(sum), NUMBER(least), NUMBER(most),
};
#undef OF

#define OF struct lpo_range_look
static const struct lpo_row_field looks[] = {
    NAME(name), ROW(domain, DOMAINS), NAME_IF(category), NUMBER(color), FLAG(has_color),
};
#undef OF

#define OF struct lpo_window
static const struct lpo_row_field windows[] = {
    MOMENT(start_ns), END(end_ns), ROW(process, PROCESSES), NUMBER(why),
};
#undef OF

#define OF struct lpo_window_range
static const struct lpo_row_field window_ranges[] = {
    NAME_IF(name), ROW(process, PROCESSES), ROW(first, WINDOWS), NUMBER(count), NUMBER(seen),
    NUMBER(recorded), NUMBER(unrecorded_launches), NUMBER(chosen_launches),
    NUMBER(chosen_graphs), FLAG(counted), FLAG(ring), FLAG(open_end),
};
#undef OF

#define OF struct lpo_range
static const struct lpo_row_field ranges[] = {
    MOMENT(start_ns), END(end_ns), NAME(name), ROW(thread, THREADS), ROW(domain, DOMAINS),
    ONE_OF(kind, LPO_PYTHON), NUMBER(flags),
};
#undef OF

#define OF struct lpo_op
static const struct lpo_row_field ops[] = {
    MOMENT(start_ns), END(end_ns), NAME(name), ROW(thread, THREADS), ROW_IF(args, OP_ARGS),
    NUMBER(sequence), NUMBER(forward_thread),
};
#undef OF

#define OF struct lpo_op_link
static const struct lpo_row_field op_links[] = {
    ROW(forward, OPS), ROW(backward, OPS),
};
#undef OF

#define OF struct lpo_summary
static const struct lpo_row_field summaries[] = {
    NAME(name), NUMBER(count), NUMBER(total_ns), NUMBER(min_ns), NUMBER(max_ns),
    ONE_OF(kind, LPO_MEMSET),
    FLAG(placed), ROW(process, PROCESSES), ROW(device, DEVICES), NAME_IF(linker),
    ROW_IF(stack, STACKS), ROW_IF(capture, CAPTURES), NUMBER(bytes), NUMBER(unknown), NUMBER(whole),
};
#undef OF

#define OF struct lpo_allocator
static const struct lpo_row_field allocators[] = {
    ROW(device, DEVICES), ONE_OF(source, LPO_ALLOCATOR_SNAPSHOT), NUMBER(seen), NUMBER(older),
    NUMBER(out_of_memory),
    NUMBER(refused_bytes), NUMBER(gpu_free_bytes), MOMENT(refused_ns),
    ROW_IF(refused_owner, MEMORY_OWNERS),
};
#undef OF

#define OF struct lpo_memory_owner
static const struct lpo_row_field memory_owners[] = {
    NAME_IF(place), NAME_IF(library), NAME_IF(op), NAME_IF(function),
    ONE_OF(phase, LPO_MEMORY_OPTIMIZER),
};
#undef OF

#define OF struct lpo_memory_event
static const struct lpo_row_field memory_events[] = {
    MOMENT(ns), NUMBER(bytes), NUMBER(allocated), NUMBER(reserved), NUMBER(address),
    ROW(allocator, ALLOCATORS), ROW_IF(thread, THREADS), ROW_IF(owner, MEMORY_OWNERS),
};
#undef OF

#define OF struct lpo_memory_pool
static const struct lpo_row_field memory_pools[] = {
    ROW(allocator, ALLOCATORS), FLAG(large), NUMBER(stream), NUMBERS(graph), NUMBER(segments),
    NUMBER(reserved), NUMBER(allocated), NUMBER(requested), NUMBER(active), NUMBER(free_bytes),
    NUMBER(split_bytes), NUMBER(largest_free),
};
#undef OF

#define OF struct lpo_gpu_op
static const struct lpo_row_field gpu_ops[] = {
    MOMENT(start_ns), END(end_ns), NUMBER(bytes), NAME(name), NAME(linker),
    ROW_IF(launch, LAUNCHES), ROW_IF(stack, STACKS), ROW_IF(capture, CAPTURES),
    ROW_IF(shape, SHAPES),
    ROW_IF(metrics, METRIC_ROWS), NUMBER(stream), ROW(process, PROCESSES), ROW(device, DEVICES),
    ONE_OF(kind, LPO_MEMSET), NUMBER(flags),
};
#undef OF

#define OF struct lpo_rule
static const struct lpo_row_field rules[] = {
    ROW(op, GPU_OPS), NAME(section), NAME(rule), NAME_IF(title), NAME(text),
    ONE_OF(kind, LPO_RULE_ADVICE),
    ONE_OF(speedup, LPO_SPEEDUP_GLOBAL), NUMBER(percent),
};
#undef OF

#define OF struct lpo_collective
static const struct lpo_row_field collectives[] = {
    ROW(op, GPU_OPS), NAME(kind), NAME_IF(dtype), NUMBER(ranks), NUMBER(in_count),
    NUMBER(out_count), NAME_IF(group), NAME_IF(members), NUMBER(peer), NUMBER(number),
};
#undef OF

#define OF struct lpo_wait
static const struct lpo_row_field waits[] = {
    MOMENT(ns), MOMENT(record_ns), NUMBER(stream), NUMBER(on_stream), ROW(process, PROCESSES),
    ROW(device, DEVICES), ONE_OF(kind, LPO_WAIT_HOST_FOR_STREAM),
};
#undef OF

#define OF struct lpo_flight_group
static const struct lpo_row_field flight_groups[] = {
    NAME_IF(name), NAME_IF(desc), NAME_IF(members), NUMBER(rank), ROW(process, PROCESSES),
    NUMBER(enqueued), NUMBER(started), NUMBER(completed),
};
#undef OF

#define OF struct lpo_flight_call
static const struct lpo_row_field flight_calls[] = {
    NUMBER(number), MOMENT(created_ns), MOMENT(started_ns), MOMENT(ended_ns),
    ROW(group, FLIGHT_GROUPS), NAME(name), NAME_IF(sizes), NAME_IF(types), NAME_IF(place),
    ONE_OF(state, LPO_FLIGHT_COMPLETED), FLAG(p2p),
};
#undef OF

#define OF struct lpo_graph_node
static const struct lpo_row_field graph_nodes[] = {
    NUMBER(id), NUMBER(rank), ROW(stack, STACKS),
};
#undef OF

#define KIND(array, type)                                                                          \
    { offsetof(struct lpo_trace, array), sizeof(type), array, sizeof array / sizeof *array }

const struct lpo_row_kind lpo_row_kinds[LPO_ROW_ARRAYS] = {
    [LPO_ROWS_PROCESSES] = KIND(processes, struct lpo_process),
    [LPO_ROWS_THREADS] = KIND(threads, struct lpo_thread),
    [LPO_ROWS_DEVICES] = KIND(devices, struct lpo_device),
    [LPO_ROWS_DOMAINS] = KIND(domains, uint32_t),
    [LPO_ROWS_SHAPES] = KIND(shapes, struct lpo_shape),
    [LPO_ROWS_OP_ARGS] = KIND(op_args, struct lpo_op_args),
    [LPO_ROWS_FRAMES] = KIND(frames, struct lpo_frame),
    [LPO_ROWS_STACKS] = KIND(stacks, struct lpo_stack),
    [LPO_ROWS_METRICS] = KIND(metrics, struct lpo_metric),
    [LPO_ROWS_PATHS] = KIND(paths, struct lpo_path),
    [LPO_ROWS_OPEN_PATHS] = KIND(open_paths, struct lpo_open_path),
    [LPO_ROWS_CAPTURES] = KIND(captures, struct lpo_capture),
    [LPO_ROWS_LAUNCHES] = KIND(launches, struct lpo_launch),
    [LPO_ROWS_CALLS] = KIND(calls, struct lpo_api_call),
    [LPO_ROWS_PYTHON] = KIND(python, struct lpo_python_call),
    [LPO_ROWS_CAPTURED_LAUNCHES] = KIND(captured_launches, struct lpo_captured_launch),
    [LPO_ROWS_MARKS] = KIND(marks, struct lpo_mark),
    [LPO_ROWS_RANGE_NUMBERS] = KIND(range_numbers, struct lpo_range_number),
    [LPO_ROWS_NUMBERS] = KIND(numbers, struct lpo_number),
    [LPO_ROWS_LOOKS] = KIND(looks, struct lpo_range_look),
    [LPO_ROWS_WINDOWS] = KIND(windows, struct lpo_window),
    [LPO_ROWS_WINDOW_RANGES] = KIND(window_ranges, struct lpo_window_range),
    [LPO_ROWS_RANGES] = KIND(ranges, struct lpo_range),
    [LPO_ROWS_OPS] = KIND(ops, struct lpo_op),
    [LPO_ROWS_OP_LINKS] = KIND(op_links, struct lpo_op_link),
    [LPO_ROWS_SUMMARIES] = KIND(summaries, struct lpo_summary),
    [LPO_ROWS_ALLOCATORS] = KIND(allocators, struct lpo_allocator),
    [LPO_ROWS_MEMORY_OWNERS] = KIND(memory_owners, struct lpo_memory_owner),
    [LPO_ROWS_MEMORY_EVENTS] = KIND(memory_events, struct lpo_memory_event),
    [LPO_ROWS_MEMORY_POOLS] = KIND(memory_pools, struct lpo_memory_pool),
    [LPO_ROWS_GPU_OPS] = KIND(gpu_ops, struct lpo_gpu_op),
    [LPO_ROWS_RULES] = KIND(rules, struct lpo_rule),
    [LPO_ROWS_COLLECTIVES] = KIND(collectives, struct lpo_collective),
    [LPO_ROWS_WAITS] = KIND(waits, struct lpo_wait),
    [LPO_ROWS_FLIGHT_GROUPS] = KIND(flight_groups, struct lpo_flight_group),
    [LPO_ROWS_FLIGHT_CALLS] = KIND(flight_calls, struct lpo_flight_call),
    [LPO_ROWS_GRAPH_NODES] = KIND(graph_nodes, struct lpo_graph_node),
};
/* clang-format on */

char *lpo_trace_rows_grow(struct lpo_row_vec *v, size_t more, size_t row_bytes)
{
    size_t cap = v->cap ? v->cap : 8;
    char *at;

    while (cap < v->len + more)
        cap *= 2;
    if (cap != v->cap)
        v->at = lpo_xrealloc(v->at, cap, row_bytes);
    v->cap = cap;
    at = v->at + v->len * row_bytes;
    memset(at, 0, more * row_bytes);
    v->len += more;
    return at;
}

uint64_t lpo_trace_row_get(const char *row, const struct lpo_row_field *f, unsigned i)
{
    const char *at = row + f->at + (size_t)i * f->size;
    uint64_t eight;
    uint32_t four;
    uint16_t two;

    switch (f->size) {
    case 8:
        memcpy(&eight, at, sizeof eight);
        return eight;
    case 4:
        memcpy(&four, at, sizeof four);
        return four;
    case 2:
        memcpy(&two, at, sizeof two);
        return two;
    default:
        return *(const unsigned char *)at;
    }
}

void lpo_trace_row_set(char *row, const struct lpo_row_field *f, unsigned i, uint64_t value)
{
    char *at = row + f->at + (size_t)i * f->size;
    uint32_t four = (uint32_t)value;
    uint16_t two = (uint16_t)value;

    switch (f->size) {
    case 8:
        memcpy(at, &value, sizeof value);
        return;
    case 4:
        memcpy(at, &four, sizeof four);
        return;
    case 2:
        memcpy(at, &two, sizeof two);
        return;
    default:
        *at = (char)(unsigned char)value;
    }
}
