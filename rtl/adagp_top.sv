// The machine: sequencer, main array, vector unit, reorganisation unit, DMA, event counters, and by
// DESIGN the predictor's parts. 0 baseline: none. 1 low: none of its own, its weights come over the
// DMA into X. 2 efficient: a memory PX beside X. 3 max: an array of its own with memories PX, PY,
// PW and, where its predictor learns, PG, PD, PO.
module adagp_top #(
  parameter int DESIGN = 0, parameter int ROWS = 4, parameter int COLS = 5,
  parameter int PROWS = 2, parameter int PCOLS = 3, parameter int FORMAT = 0,
  parameter int PMODES = 0,  // 1: the predictor array knows all three modes and learns
  parameter int LX = adagp_pkg::X_ADDRESS_BITS, parameter int LY = adagp_pkg::Y_ADDRESS_BITS,
  parameter int LW = adagp_pkg::W_ADDRESS_BITS,
  parameter int LP = adagp_pkg::PREDICTOR_ADDRESS_BITS,
  parameter int LD = adagp_pkg::DESCRIPTOR_ADDRESS_BITS,
  parameter int LS = adagp_pkg::STRETCH_ADDRESS_BITS,
  parameter int STRETCH = adagp_pkg::EPOCH_BITS + 2 * adagp_pkg::RATIO_BITS + 1,
  parameter int WIDE = ROWS > COLS ? ROWS : COLS,
  parameter int PWIDE = PROWS > PCOLS ? PROWS : PCOLS,
  parameter int LANES = WIDE > PWIDE ? WIDE : PWIDE) (
  input  logic                clk,
  input  logic                rst,
  input  logic                program_we,
  input  logic [LD-1:0]       program_wa,
  input  logic [255:0]        program_wd,
  input  logic                start,
  input  logic [31:0]         n_batches,
  input  logic [31:0]         epoch_batches,
  input  logic                stretch_we,
  input  logic [LS-1:0]       stretch_wa,
  input  logic [STRETCH-1:0]  stretch_wd,
  output logic                running,
  output logic                batch_done,  // one cycle at the end of each batch
  output logic                error,
  output logic                clash,
  output logic [2:0]          seq_state,
  output logic [LD-1:0]       seq_pc,
  output logic [4:0]          seq_idle,
  output logic [2:0]          seq_phase,
  output logic [adagp_pkg::EVENTS*adagp_pkg::COUNTER_BITS-1:0] counts,
  output logic                request_valid,
  input  logic                request_ready,
  output logic                request_store,
  output logic [31:0]         request_addr,
  output logic [15:0]         request_beats,
  input  logic                load_valid,
  output logic                load_ready,
  input  logic [LANES*32-1:0] load_data,
  output logic                store_valid,
  input  logic                store_ready,
  output logic [LANES*32-1:0] store_data);
  localparam int HAS_PRED = DESIGN >= adagp_pkg::DESIGN_LOW ? 1 : 0;
  localparam int HAS_PX = DESIGN == adagp_pkg::DESIGN_EFFICIENT ? 1 : 0;
  localparam int HAS_ARRAY = DESIGN == adagp_pkg::DESIGN_MAX ? 1 : 0;
  localparam int LEARNS = (HAS_PRED != 0 && (HAS_ARRAY == 0 || PMODES != 0)) ? 1 : 0;

  // ---- program and sequencer
  logic [255:0] d;
  logic fetch, issued, skipped, batch_end, last_batch;
  logic [4:0] issue;
  bank #(.BITS(256), .ADDRESS_BITS(LD)) program_memory (
    .clk(clk), .we(program_we), .wa(program_wa), .wd(program_wd), .re(fetch), .ra(seq_pc), .rd(d));
  sequencer #(.DESIGN(DESIGN), .LD(LD)) seq (
    .clk(clk), .rst(rst), .start(start), .idle_engines(seq_idle), .phase(seq_phase),
    .last_batch(last_batch), .d(d), .pc(seq_pc), .fetch(fetch), .issue(issue), .issued(issued),
    .skipped(skipped), .batch_end(batch_end), .running(running), .error(error), .state(seq_state));
  phase_control #(.HAS_PRED(HAS_PRED), .LS(LS), .STRETCH(STRETCH)) phases (
    .clk(clk), .we(stretch_we), .wa(stretch_wa), .wd(stretch_wd), .start(start), .next(batch_end),
    .n_batches(n_batches), .epoch_batches(epoch_batches), .phase(seq_phase), .last(last_batch));
  assign batch_done = batch_end;

  // ---- DMA
  logic dma_stall, load_beat, store_beat, dma_re;
  logic [3:0] dma_buffer;
  logic [15:0] dma_addr, in, out;
  dma_unit #(.LANES(LANES)) dma (
    .clk(clk), .rst(rst), .issue(issue[adagp_pkg::ENGINE_DMA]), .d(d),
    .idle(seq_idle[adagp_pkg::ENGINE_DMA]), .stall(dma_stall), .load_beat(load_beat),
    .store_beat(store_beat), .request_valid(request_valid), .request_ready(request_ready),
    .request_store(request_store), .request_addr(request_addr), .request_beats(request_beats),
    .load_valid(load_valid), .load_ready(load_ready), .store_valid(store_valid),
    .store_ready(store_ready), .buffer(dma_buffer), .buffer_re(dma_re), .buffer_addr(dma_addr));
  assign in = load_beat ? 16'd1 << dma_buffer : 16'd0;
  assign out = dma_re ? 16'd1 << dma_buffer : 16'd0;
  logic [COLS*16-1:0] in_c16;
  logic [COLS*32-1:0] in_c32;
  logic [ROWS*16-1:0] in_r16;
  logic [ROWS*32-1:0] in_r32;
  logic [PROWS*16-1:0] in_pr16;
  logic [PROWS*32-1:0] in_pr32;
  logic [PCOLS*16-1:0] in_pc16;
  logic [PCOLS*32-1:0] in_pc32;
  always_comb begin
    for (int k = 0; k < COLS; k = k + 1) in_c16[k*16 +: 16] = load_data[k*32 +: 16];
    for (int k = 0; k < ROWS; k = k + 1) in_r16[k*16 +: 16] = load_data[k*32 +: 16];
    for (int k = 0; k < PROWS; k = k + 1) in_pr16[k*16 +: 16] = load_data[k*32 +: 16];
    for (int k = 0; k < PCOLS; k = k + 1) in_pc16[k*16 +: 16] = load_data[k*32 +: 16];
  end
  assign in_c32 = load_data[COLS*32-1:0];
  assign in_r32 = load_data[ROWS*32-1:0];
  assign in_pr32 = load_data[PROWS*32-1:0];
  assign in_pc32 = load_data[PCOLS*32-1:0];

  // ---- vector unit
  logic vec_beat, vec_update, vec_read, vec_read_bias, vec_write, vec_writes_scale;
  logic [3:0] vec_kind;
  logic [15:0] vec_plain, vec_looped, vec_bias_row, vec_wa, vec_wb;
  logic vec_act, vec_back, vec_out, vec_sgd, vec_sgd_pred, vec_gradient, vec_clear;
  logic vec_error, vec_slope, vec_to_y;
  logic [COLS*16-1:0] act_data, x_rd, px_rd;
  logic [COLS-1:0] act_valid, act_wrap;
  logic [ROWS*16-1:0] back_data, row_data, new_w, g_rd, w_rd;
  logic [ROWS-1:0] back_valid, back_wrap, grad_valid, grad_wrap;
  logic [PROWS*16-1:0] pw_rd, pg_rd, vec_pg_data;
  logic [PROWS-1:0] vec_pg_valid, vec_pg_wrap;
  logic [ROWS*32-1:0] grad_data, new_v, new_p, y_rd, o_rd, v_rd, p_rd;
  logic [COLS*32-1:0] d_rd;
  logic [PROWS*32-1:0] py_rd, po_rd;
  logic [PCOLS*16-1:0] ppx_rd;
  logic [PCOLS*32-1:0] pd_rd;
  vec_unit #(.ROWS(ROWS), .COLS(COLS), .PROWS(PROWS), .FORMAT(FORMAT), .HAS_PRED(HAS_PRED),
             .HAS_ARRAY(HAS_ARRAY), .LEARNS(LEARNS)) vec (
    .clk(clk), .rst(rst), .issue(issue[adagp_pkg::ENGINE_VEC]), .d(d),
    .idle(seq_idle[adagp_pkg::ENGINE_VEC]), .beat(vec_beat), .update(vec_update), .kind(vec_kind),
    .plain(vec_plain), .looped(vec_looped), .read(vec_read), .read_bias(vec_read_bias),
    .bias_row(vec_bias_row), .write(vec_write), .write_scale(vec_writes_scale), .wa(vec_wa),
    .wb(vec_wb),
    .y_rd(y_rd), .d_rd(d_rd), .x_rd(x_rd), .o_rd(o_rd), .v_rd(v_rd), .p_rd(p_rd), .py_rd(py_rd),
    .po_rd(po_rd), .to_y(vec_to_y),
    .act_data(act_data), .act_valid(act_valid), .act_wrap(act_wrap), .back_data(back_data),
    .back_valid(back_valid), .back_wrap(back_wrap), .row_data(row_data),
    .grad_data(grad_data), .grad_valid(grad_valid), .grad_wrap(grad_wrap), .pg_data(vec_pg_data),
    .pg_valid(vec_pg_valid), .pg_wrap(vec_pg_wrap), .new_w(new_w),
    .new_v(new_v), .new_p(new_p));
  assign vec_act = vec_kind == 4'(adagp_pkg::VEC_ACT);
  assign vec_back = vec_kind == 4'(adagp_pkg::VEC_BACK);
  assign vec_out = vec_kind == 4'(adagp_pkg::VEC_OUT);
  assign vec_sgd_pred = HAS_PRED != 0 && vec_kind == 4'(adagp_pkg::VEC_SGD_PRED);
  assign vec_sgd = vec_kind == 4'(adagp_pkg::VEC_SGD) || vec_sgd_pred;
  assign vec_gradient = HAS_ARRAY != 0 && vec_kind == 4'(adagp_pkg::VEC_GRADIENT);
  assign vec_clear = vec_kind == 4'(adagp_pkg::VEC_CLEAR);
  assign vec_error = LEARNS != 0 && vec_kind == 4'(adagp_pkg::VEC_ERROR);
  assign vec_slope = LEARNS != 0 && vec_kind == 4'(adagp_pkg::VEC_SLOPE);

  // ---- reorganisation unit
  logic reorg_beat, reorg_from_g, reorg_from_pred, reorg_write, reorg_to_pred;
  logic [15:0] reorg_addr, reorg_wa, reorg_wb;
  logic [ROWS*16-1:0] reorg_w;
  logic [ROWS*32-1:0] reorg_o;
  logic [PROWS*16-1:0] reorg_pw;
  logic [PROWS-1:0] reorg_pw_valid, reorg_pw_wrap;
  reorg_unit #(.ROWS(ROWS), .PROWS(PROWS), .FORMAT(FORMAT), .HAS_PRED(HAS_PRED),
               .HAS_ARRAY(HAS_ARRAY)) reorg (
    .clk(clk), .rst(rst), .issue(issue[adagp_pkg::ENGINE_REORG]), .d(d),
    .idle(seq_idle[adagp_pkg::ENGINE_REORG]), .beat(reorg_beat), .from_g(reorg_from_g),
    .from_pred(reorg_from_pred), .addr(reorg_addr), .y_rd(y_rd), .py_rd(py_rd), .g_rd(g_rd),
    .write(reorg_write), .to_pred(reorg_to_pred), .wa(reorg_wa), .wb(reorg_wb), .w_data(reorg_w),
    .o_data(reorg_o), .pw_data(reorg_pw), .pw_valid(reorg_pw_valid), .pw_wrap(reorg_pw_wrap));

  // ---- who reads and writes the main memories: vector unit, reorganisation unit, then DMA
  logic vec_reads_y, reorg_reads_y, reorg_writes_w, vec_writes_o, reorg_writes_o;
  logic vec_writes_x, vec_writes_g, vec_back_read, vec_writes_d, vec_reads_o, sgd_read, sgd_write, p_write;
  logic vec_reads_py, reorg_reads_py, vec_main_slope, vec_pred_slope, vec_writes_y, vec_writes_pg;
  logic main_loading, main_streaming, main_draining, main_clash;
  assign vec_main_slope = HAS_ARRAY == 0 && vec_slope;
  assign vec_pred_slope = HAS_ARRAY != 0 && vec_slope;
  assign vec_reads_y =
    vec_read && (vec_act || vec_out || vec_sgd_pred || vec_error || vec_main_slope);
  assign reorg_reads_y = reorg_beat && !reorg_from_g && !reorg_from_pred;
  assign vec_reads_py = vec_read && (vec_gradient || vec_pred_slope);
  assign reorg_reads_py = reorg_beat && reorg_from_pred;
  assign vec_back_read = vec_read && vec_back;
  assign sgd_read = vec_read && vec_sgd;
  assign sgd_write = vec_write && vec_sgd;
  assign p_write = sgd_write || vec_writes_scale;
  assign vec_writes_x = vec_write && vec_act;
  assign vec_writes_g = vec_write && (vec_back || vec_out || vec_main_slope
                                      || (HAS_ARRAY == 0 && vec_error));
  assign vec_writes_pg = HAS_ARRAY != 0 && vec_write && (vec_error || vec_slope);
  assign vec_reads_o = vec_read && ((vec_sgd && !vec_sgd_pred) || vec_error || vec_main_slope);
  assign vec_writes_o = vec_write && vec_gradient && !vec_to_y;
  assign vec_writes_y = vec_write && vec_gradient && vec_to_y;
  assign vec_writes_d = vec_write && vec_clear;
  assign reorg_writes_w = reorg_write && !reorg_from_g && !reorg_to_pred;
  assign reorg_writes_o = reorg_write && reorg_from_g;
  engine #(.ROWS(ROWS), .COLS(COLS), .FORMAT(FORMAT), .MODES(1), .HAS_PX(HAS_PX), .LX(LX), .LY(LY),
           .LW(LW), .LP(LP)) main (
    .clk(clk), .rst(rst), .issue(issue[adagp_pkg::ENGINE_MAIN]), .d(d),
    .idle(seq_idle[adagp_pkg::ENGINE_MAIN]), .loading(main_loading), .streaming(main_streaming),
    .draining(main_draining), .clash(main_clash),
    .x_re(vec_back_read || out[adagp_pkg::BUFFER_X]), .x_ra(vec_back_read ? vec_looped : dma_addr),
    .x_we(vec_writes_x ? act_valid : {COLS{in[adagp_pkg::BUFFER_X]}}),
    .x_wsel(vec_writes_x ? act_wrap : {COLS{1'b0}}), .x_wa(vec_writes_x ? vec_wa : dma_addr),
    .x_wb(vec_wb), .x_wd(vec_writes_x ? act_data : in_c16), .x_rd(x_rd),
    .px_we(in[adagp_pkg::BUFFER_PX]), .px_wa(dma_addr), .px_wd(in_c16),
    .px_re(out[adagp_pkg::BUFFER_PX]), .px_ra(dma_addr), .px_rd(px_rd),
    .y_re(vec_reads_y || reorg_reads_y || out[adagp_pkg::BUFFER_Y]),
    .y_ra(vec_reads_y ? vec_plain : reorg_reads_y ? reorg_addr : dma_addr),
    .y_we(vec_writes_y ? grad_valid : {ROWS{in[adagp_pkg::BUFFER_Y]}}),
    .y_wsel(vec_writes_y ? grad_wrap : {ROWS{1'b0}}), .y_wa(vec_writes_y ? vec_wa : dma_addr),
    .y_wb(vec_wb), .y_wd(vec_writes_y ? grad_data : in_r32), .y_rd(y_rd),
    .g_re((reorg_beat && reorg_from_g) || out[adagp_pkg::BUFFER_G]),
    .g_ra((reorg_beat && reorg_from_g) ? reorg_addr : dma_addr),
    .g_we(vec_writes_g ? (vec_back ? back_valid : {ROWS{1'b1}}) : {ROWS{in[adagp_pkg::BUFFER_G]}}),
    .g_wsel((vec_writes_g && vec_back) ? back_wrap : {ROWS{1'b0}}),
    .g_wa(vec_writes_g ? vec_wa : dma_addr), .g_wb(vec_wb),
    .g_wd(vec_writes_g ? (vec_back ? back_data : row_data) : in_r16), .g_rd(g_rd),
    .d_re(vec_back_read || out[adagp_pkg::BUFFER_D]), .d_ra(vec_back_read ? vec_looped : dma_addr),
    .d_we(vec_writes_d || in[adagp_pkg::BUFFER_D]), .d_wa(vec_writes_d ? vec_wa : dma_addr),
    .d_wd(vec_writes_d ? {COLS*32{1'b0}} : in_c32), .d_rd(d_rd),
    .w_re(out[adagp_pkg::BUFFER_W]), .w_ra(dma_addr),
    .w_we({ROWS{sgd_write || reorg_writes_w || in[adagp_pkg::BUFFER_W]}}), .w_wsel({ROWS{1'b0}}),
    .w_wa(sgd_write ? vec_wa : reorg_writes_w ? reorg_wa : dma_addr), .w_wb(16'd0),
    .w_wd(sgd_write ? new_w : reorg_writes_w ? reorg_w : in_r16),
    .w_rd(w_rd),
    .o_re(vec_reads_o || out[adagp_pkg::BUFFER_O]),
    .o_ra(vec_reads_o ? vec_looped : dma_addr),
    .o_we(vec_writes_o ? grad_valid : {ROWS{reorg_writes_o || in[adagp_pkg::BUFFER_O]}}),
    .o_wsel(vec_writes_o ? grad_wrap : {ROWS{1'b0}}),
    .o_wa(vec_writes_o ? vec_wa : reorg_writes_o ? reorg_wa : dma_addr), .o_wb(vec_wb),
    .o_wd(vec_writes_o ? grad_data : reorg_writes_o ? reorg_o : in_r32), .o_rd(o_rd));

  // ---- V: velocities, P: weights in full precision
  logic clash_v, clash_p;
  lane_memory #(.LANES(ROWS), .BITS(32), .ADDRESS_BITS(LW)) mem_v (
    .clk(clk), .a_re({ROWS{1'b0}}), .a_ra({ROWS*16{1'b0}}), .a_we({ROWS{1'b0}}),
    .a_wa({ROWS*16{1'b0}}), .a_wd({ROWS*32{1'b0}}), .re(sgd_read || out[adagp_pkg::BUFFER_V]),
    .ra(sgd_read ? vec_looped : dma_addr), .we({ROWS{sgd_write || in[adagp_pkg::BUFFER_V]}}),
    .wsel({ROWS{1'b0}}), .wa(sgd_write ? vec_wa : dma_addr), .wb(16'd0),
    .wd(sgd_write ? new_v : in_r32), .rd(v_rd), .clash(clash_v));
  lane_memory #(.LANES(ROWS), .BITS(32), .ADDRESS_BITS(LW)) mem_p (
    .clk(clk), .a_re({ROWS{1'b0}}), .a_ra({ROWS*16{1'b0}}), .a_we({ROWS{1'b0}}),
    .a_wa({ROWS*16{1'b0}}), .a_wd({ROWS*32{1'b0}}),
    .re(sgd_read || vec_read_bias || out[adagp_pkg::BUFFER_P]),
    .ra(sgd_read ? vec_looped : vec_read_bias ? vec_bias_row : dma_addr),
    .we({ROWS{p_write || in[adagp_pkg::BUFFER_P]}}), .wsel({ROWS{1'b0}}),
    .wa(vec_writes_scale ? vec_bias_row : sgd_write ? vec_wa : dma_addr), .wb(16'd0),
    .wd(p_write ? new_p : in_r32), .rd(p_rd),
    .clash(clash_p));

  // ---- the predictor's array
  logic pred_loading, pred_streaming, pred_draining, pred_clash;
  generate
    if (HAS_ARRAY != 0) begin : g_pred
      logic [PCOLS*16-1:0] unused_px;
      engine #(.ROWS(PROWS), .COLS(PCOLS), .FORMAT(FORMAT), .MODES(PMODES), .LX(LP), .LY(LY),
               .LW(LW), .LP(LP)) pred (
        .clk(clk), .rst(rst), .issue(issue[adagp_pkg::ENGINE_PRED]), .d(d),
        .idle(seq_idle[adagp_pkg::ENGINE_PRED]), .loading(pred_loading),
        .streaming(pred_streaming), .draining(pred_draining), .clash(pred_clash),
        .x_re(out[adagp_pkg::BUFFER_PX]), .x_ra(dma_addr), .x_we({PCOLS{in[adagp_pkg::BUFFER_PX]}}),
        .x_wsel({PCOLS{1'b0}}), .x_wa(dma_addr), .x_wb(16'd0), .x_wd(in_pc16), .x_rd(ppx_rd),
        .px_we(1'b0), .px_wa(16'd0), .px_wd({PCOLS*16{1'b0}}), .px_re(1'b0), .px_ra(16'd0),
        .px_rd(unused_px),
        .y_re(vec_reads_py || reorg_reads_py || out[adagp_pkg::BUFFER_PY]),
        .y_ra(vec_reads_py ? vec_plain : reorg_reads_py ? reorg_addr : dma_addr),
        .y_we({PROWS{in[adagp_pkg::BUFFER_PY]}}), .y_wsel({PROWS{1'b0}}), .y_wa(dma_addr),
        .y_wb(16'd0), .y_wd(in_pr32), .y_rd(py_rd),
        .g_re(out[adagp_pkg::BUFFER_PG]), .g_ra(dma_addr),
        .g_we(vec_writes_pg ? vec_pg_valid : {PROWS{in[adagp_pkg::BUFFER_PG]}}),
        .g_wsel(vec_writes_pg ? vec_pg_wrap : {PROWS{1'b0}}),
        .g_wa(vec_writes_pg ? vec_wa : dma_addr), .g_wb(vec_wb),
        .g_wd(vec_writes_pg ? vec_pg_data : in_pr16), .g_rd(pg_rd),
        .d_re(out[adagp_pkg::BUFFER_PD]), .d_ra(dma_addr), .d_we(in[adagp_pkg::BUFFER_PD]),
        .d_wa(dma_addr), .d_wd(in_pc32), .d_rd(pd_rd),
        .w_re(out[adagp_pkg::BUFFER_PW]), .w_ra(dma_addr),
        .w_we((reorg_write && reorg_to_pred) ? reorg_pw_valid
              : {PROWS{in[adagp_pkg::BUFFER_PW]}}),
        .w_wsel((reorg_write && reorg_to_pred) ? reorg_pw_wrap : {PROWS{1'b0}}),
        .w_wa((reorg_write && reorg_to_pred) ? reorg_wa : dma_addr),
        .w_wb(reorg_wb),
        .w_wd((reorg_write && reorg_to_pred) ? reorg_pw : in_pr16),
        .w_rd(pw_rd),
        .o_re((vec_read && vec_pred_slope) || out[adagp_pkg::BUFFER_PO]),
        .o_ra((vec_read && vec_pred_slope) ? vec_looped : dma_addr),
        .o_we({PROWS{in[adagp_pkg::BUFFER_PO]}}), .o_wsel({PROWS{1'b0}}), .o_wa(dma_addr),
        .o_wb(16'd0), .o_wd(in_pr32), .o_rd(po_rd));
    end else begin : g_no_pred
      assign seq_idle[adagp_pkg::ENGINE_PRED] = 1'b1;
      assign {pred_loading, pred_streaming, pred_draining, pred_clash} = 4'd0;
      assign py_rd = {PROWS*32{1'b0}};
      assign {pw_rd, pg_rd} = {2*PROWS*16{1'b0}};
      assign po_rd = {PROWS*32{1'b0}};
      assign pd_rd = {PCOLS*32{1'b0}};
      assign ppx_rd = {PCOLS*16{1'b0}};
    end
  endgenerate

  // ---- rows that leave; a 16-bit word leaves in the low half of its 32 bits
  always_comb begin
    store_data = {LANES*32{1'b0}};
    for (int k = 0; k < COLS; k = k + 1) begin
      if (dma_buffer == 4'(adagp_pkg::BUFFER_X)) store_data[k*32 +: 16] = x_rd[k*16 +: 16];
      if (dma_buffer == 4'(adagp_pkg::BUFFER_D)) store_data[k*32 +: 32] = d_rd[k*32 +: 32];
      if (HAS_PX != 0 && dma_buffer == 4'(adagp_pkg::BUFFER_PX))
        store_data[k*32 +: 16] = px_rd[k*16 +: 16];
    end
    for (int k = 0; k < ROWS; k = k + 1) begin
      if (dma_buffer == 4'(adagp_pkg::BUFFER_Y)) store_data[k*32 +: 32] = y_rd[k*32 +: 32];
      if (dma_buffer == 4'(adagp_pkg::BUFFER_G)) store_data[k*32 +: 16] = g_rd[k*16 +: 16];
      if (dma_buffer == 4'(adagp_pkg::BUFFER_W)) store_data[k*32 +: 16] = w_rd[k*16 +: 16];
      if (dma_buffer == 4'(adagp_pkg::BUFFER_O)) store_data[k*32 +: 32] = o_rd[k*32 +: 32];
      if (dma_buffer == 4'(adagp_pkg::BUFFER_V)) store_data[k*32 +: 32] = v_rd[k*32 +: 32];
      if (dma_buffer == 4'(adagp_pkg::BUFFER_P)) store_data[k*32 +: 32] = p_rd[k*32 +: 32];
    end
    for (int k = 0; k < PROWS; k = k + 1) begin
      if (dma_buffer == 4'(adagp_pkg::BUFFER_PY)) store_data[k*32 +: 32] = py_rd[k*32 +: 32];
      if (dma_buffer == 4'(adagp_pkg::BUFFER_PW)) store_data[k*32 +: 16] = pw_rd[k*16 +: 16];
      if (dma_buffer == 4'(adagp_pkg::BUFFER_PG)) store_data[k*32 +: 16] = pg_rd[k*16 +: 16];
      if (dma_buffer == 4'(adagp_pkg::BUFFER_PO)) store_data[k*32 +: 32] = po_rd[k*32 +: 32];
    end
    for (int k = 0; k < PCOLS; k = k + 1) begin
      if (HAS_ARRAY != 0 && dma_buffer == 4'(adagp_pkg::BUFFER_PX))
        store_data[k*32 +: 16] = ppx_rd[k*16 +: 16];
      if (dma_buffer == 4'(adagp_pkg::BUFFER_PD)) store_data[k*32 +: 32] = pd_rd[k*32 +: 32];
    end
  end

  // ---- events
  logic [adagp_pkg::EVENTS-1:0] events;
  always_comb begin
    events = {adagp_pkg::EVENTS{1'b0}};
    events[adagp_pkg::EVENT_CYCLES] = running;
    events[adagp_pkg::EVENT_BUSY_MAIN] = !seq_idle[adagp_pkg::ENGINE_MAIN];
    events[adagp_pkg::EVENT_BUSY_PRED] = !seq_idle[adagp_pkg::ENGINE_PRED];
    events[adagp_pkg::EVENT_BUSY_DMA] = !seq_idle[adagp_pkg::ENGINE_DMA];
    events[adagp_pkg::EVENT_BUSY_VEC] = !seq_idle[adagp_pkg::ENGINE_VEC];
    events[adagp_pkg::EVENT_BUSY_REORG] = !seq_idle[adagp_pkg::ENGINE_REORG];
    events[adagp_pkg::EVENT_MAIN_ROWS] = main_streaming;
    events[adagp_pkg::EVENT_MAIN_WEIGHT_ROWS] = main_loading;
    events[adagp_pkg::EVENT_MAIN_DRAIN_ROWS] = main_draining;
    events[adagp_pkg::EVENT_PRED_ROWS] = pred_streaming;
    events[adagp_pkg::EVENT_PRED_WEIGHT_ROWS] = pred_loading;
    events[adagp_pkg::EVENT_PRED_DRAIN_ROWS] = pred_draining;
    events[adagp_pkg::EVENT_DMA_LOAD_BEATS] = load_beat;
    events[adagp_pkg::EVENT_DMA_STORE_BEATS] = store_beat;
    events[adagp_pkg::EVENT_DMA_STALLS] = dma_stall;
    events[adagp_pkg::EVENT_VEC_BEATS] = vec_beat;
    events[adagp_pkg::EVENT_UPDATE_ROWS] = vec_update;
    events[adagp_pkg::EVENT_REORG_BEATS] = reorg_beat;
    events[adagp_pkg::EVENT_ISSUED] = issued;
    events[adagp_pkg::EVENT_SKIPPED] = skipped;
    events[adagp_pkg::EVENT_WARM_BATCHES] = batch_end && seq_phase[adagp_pkg::PHASE_WARM];
    events[adagp_pkg::EVENT_BP_BATCHES] = batch_end && seq_phase[adagp_pkg::PHASE_BP];
    events[adagp_pkg::EVENT_GP_BATCHES] = batch_end && seq_phase[adagp_pkg::PHASE_GP];
    events[adagp_pkg::EVENT_WARM_CYCLES] = running && seq_phase[adagp_pkg::PHASE_WARM];
    events[adagp_pkg::EVENT_BP_CYCLES] = running && seq_phase[adagp_pkg::PHASE_BP];
    events[adagp_pkg::EVENT_GP_CYCLES] = running && seq_phase[adagp_pkg::PHASE_GP];
  end
  counters events_seen (
    .clk(clk), .clear(rst || (start && !running)), .events(events), .counts(counts));

  // The DMA and another unit at one port of a memory.
  logic dma_clash;
  assign dma_clash =
    (in[adagp_pkg::BUFFER_X] && vec_writes_x) || (in[adagp_pkg::BUFFER_G] && vec_writes_g)
    || (in[adagp_pkg::BUFFER_D] && vec_writes_d)
    || (in[adagp_pkg::BUFFER_W] && (sgd_write || reorg_writes_w))
    || (in[adagp_pkg::BUFFER_O] && (vec_writes_o || reorg_writes_o))
    || (in[adagp_pkg::BUFFER_Y] && vec_writes_y) || (in[adagp_pkg::BUFFER_PG] && vec_writes_pg)
    || (out[adagp_pkg::BUFFER_PO] && vec_read && vec_pred_slope)
    || ((in[adagp_pkg::BUFFER_V] || in[adagp_pkg::BUFFER_P]) && p_write)
    || (out[adagp_pkg::BUFFER_Y] && (vec_reads_y || reorg_reads_y))
    || ((out[adagp_pkg::BUFFER_X] || out[adagp_pkg::BUFFER_D]) && vec_back_read)
    || (out[adagp_pkg::BUFFER_G] && reorg_beat && reorg_from_g)
    || ((out[adagp_pkg::BUFFER_V] || out[adagp_pkg::BUFFER_P]) && sgd_read)
    || (out[adagp_pkg::BUFFER_P] && vec_read_bias)
    || (out[adagp_pkg::BUFFER_O] && vec_reads_o)
    || (in[adagp_pkg::BUFFER_PW] && reorg_write && reorg_to_pred)
    || (out[adagp_pkg::BUFFER_PY] && (vec_reads_py || reorg_reads_py));

  // A sticky flag for tests: a unit and the array, or two units, used one port in the same cycle.
  always_ff @(posedge clk) begin
    if (rst) clash <= 1'b0;
    else if (main_clash || pred_clash || clash_v || clash_p
             || (vec_reads_y && reorg_reads_y) || (vec_reads_py && reorg_reads_py)
             || (sgd_write && reorg_writes_w) || (vec_writes_o && reorg_writes_o) || dma_clash)
      clash <= 1'b1;
  end
endmodule
