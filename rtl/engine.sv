// An array with its memories. The array's own accesses come from tile_control; the other units
// reach the memories through the row ports (see lane_memory). MODES 0 leaves out G, D and O.
module engine #(
  parameter int ROWS = 4, parameter int COLS = 5, parameter int FORMAT = 0, parameter int MODES = 1,
  parameter int HAS_PX = 0,  // a second memory for x: the predictor's weights (design efficient)
  parameter int LX = 8, parameter int LY = 8, parameter int LW = 8, parameter int LP = 8) (
  input  logic               clk,
  input  logic               rst,
  input  logic               issue,
  input  logic [255:0]       d,
  output logic               idle,
  output logic               loading,
  output logic               streaming,
  output logic               draining,
  output logic               clash,
  input  logic               x_re,  input logic [15:0] x_ra,
  input  logic [COLS-1:0]    x_we,  input logic [COLS-1:0] x_wsel,
  input  logic [15:0]        x_wa,  input logic [15:0] x_wb,
  input  logic [COLS*16-1:0] x_wd,  output logic [COLS*16-1:0] x_rd,
  input  logic               px_we, input logic [15:0] px_wa, input logic [COLS*16-1:0] px_wd,
  input  logic               px_re, input logic [15:0] px_ra, output logic [COLS*16-1:0] px_rd,
  input  logic               y_re,  input logic [15:0] y_ra,
  input  logic [ROWS-1:0]    y_we,  input logic [ROWS-1:0] y_wsel,
  input  logic [15:0]        y_wa,  input logic [15:0] y_wb,
  input  logic [ROWS*32-1:0] y_wd,  output logic [ROWS*32-1:0] y_rd,
  input  logic               g_re,  input logic [15:0] g_ra,
  input  logic [ROWS-1:0]    g_we,  input logic [ROWS-1:0] g_wsel,
  input  logic [15:0]        g_wa,  input logic [15:0] g_wb,
  input  logic [ROWS*16-1:0] g_wd,  output logic [ROWS*16-1:0] g_rd,
  input  logic               d_re,  input logic [15:0] d_ra,
  input  logic               d_we,  input logic [15:0] d_wa,
  input  logic [COLS*32-1:0] d_wd,  output logic [COLS*32-1:0] d_rd,
  input  logic               w_re,  input logic [15:0] w_ra,
  input  logic [ROWS-1:0]    w_we,  input logic [ROWS-1:0] w_wsel,
  input  logic [15:0]        w_wa,  input logic [15:0] w_wb,
  input  logic [ROWS*16-1:0] w_wd,  output logic [ROWS*16-1:0] w_rd,
  input  logic               o_re,  input logic [15:0] o_ra,
  input  logic [ROWS-1:0]    o_we,  input logic [ROWS-1:0] o_wsel,
  input  logic [15:0]        o_wa,  input logic [15:0] o_wb,
  input  logic [ROWS*32-1:0] o_wd,  output logic [ROWS*32-1:0] o_rd);

  logic [1:0] mode;
  logic acc_in, psrc, drain_we, pass, latch_w, load_acc, clear_acc, left_is_w, forward, dx;
  logic [15:0] w_read, drain_row;
  logic [ROWS+COLS:0] valid;
  logic [(ROWS+COLS+1)*16-1:0] x_addr, y_addr;
  logic [ROWS*32-1:0] left, right;
  logic [COLS*32-1:0] bottom, top;
  logic [COLS-1:0] col_in, col_out, col_now;
  logic [ROWS-1:0] row_in, row_out, row_now;
  logic [COLS*16-1:0] col_ra, col_wa, x_data;
  logic [ROWS*16-1:0] row_ra, row_wa;
  logic clash_x, clash_px, clash_y, clash_g, clash_d, clash_w, clash_o;

  tile_control #(.ROWS(ROWS), .COLS(COLS)) control (
    .clk(clk), .rst(rst), .issue(issue), .d(d), .idle(idle), .loading(loading),
    .streaming(streaming), .draining(draining), .mode(mode), .acc_in(acc_in), .psrc(psrc),
    .w_read(w_read), .o_write(drain_row), .o_we(drain_we), .pass(pass), .latch_w(latch_w),
    .load_acc(load_acc), .clear_acc(clear_acc), .left_is_w(left_is_w), .valid(valid),
    .x_addr(x_addr), .y_addr(y_addr));
  pe_array #(.ROWS(ROWS), .COLS(COLS), .FORMAT(FORMAT), .MODES(MODES)) cells (
    .clk(clk), .mode(mode), .pass(pass), .latch_w(latch_w), .load_acc(load_acc),
    .clear_acc(clear_acc), .left(left), .bottom(bottom), .right(right), .top(top));

  assign forward = (MODES == 0) || mode == 2'(adagp_pkg::MODE_FORWARD);
  assign dx = (MODES != 0) && mode == 2'(adagp_pkg::MODE_DX);
  // The first lanes of each pipe start reads; the stages after the array's latency write results.
  assign col_in = valid[COLS-1:0];
  assign row_in = valid[ROWS-1:0];
  assign col_out = valid[ROWS+1 +: COLS] & {COLS{dx}};
  assign row_out = valid[COLS+1 +: ROWS] & {ROWS{forward}};
  assign col_ra = x_addr[COLS*16-1:0];
  assign row_ra = y_addr[ROWS*16-1:0];
  assign col_wa = x_addr[(ROWS+1)*16 +: COLS*16];
  assign row_wa = y_addr[(COLS+1)*16 +: ROWS*16];
  always_ff @(posedge clk) begin
    col_now <= col_in;
    row_now <= row_in;
  end
  assign clash = clash_x | clash_px | clash_y | clash_g | clash_d | clash_w | clash_o;

  lane_memory #(.LANES(COLS), .BITS(16), .ADDRESS_BITS(LX)) mem_x (
    .clk(clk), .a_re(col_in & {COLS{!dx && !(HAS_PX != 0 && psrc)}}), .a_ra(col_ra),
    .a_we({COLS{1'b0}}), .a_wa({COLS*16{1'b0}}), .a_wd({COLS*16{1'b0}}),
    .re(x_re), .ra(x_ra), .we(x_we), .wsel(x_wsel), .wa(x_wa), .wb(x_wb), .wd(x_wd), .rd(x_rd),
    .clash(clash_x));
  lane_memory #(.LANES(ROWS), .BITS(32), .ADDRESS_BITS(LY)) mem_y (
    .clk(clk), .a_re(row_in & {ROWS{forward && acc_in}}), .a_ra(row_ra),
    .a_we(row_out), .a_wa(row_wa), .a_wd(right),
    .re(y_re), .ra(y_ra), .we(y_we), .wsel(y_wsel), .wa(y_wa), .wb(y_wb), .wd(y_wd), .rd(y_rd),
    .clash(clash_y));
  lane_memory #(.LANES(ROWS), .BITS(16), .ADDRESS_BITS(LW)) mem_w (
    .clk(clk), .a_re({ROWS{loading}}), .a_ra({ROWS{w_read}}),
    .a_we({ROWS{1'b0}}), .a_wa({ROWS*16{1'b0}}), .a_wd({ROWS*16{1'b0}}),
    .re(w_re), .ra(w_ra), .we(w_we), .wsel(w_wsel), .wa(w_wa), .wb(w_wb), .wd(w_wd), .rd(w_rd),
    .clash(clash_w));
  genvar k;
  generate
    if (HAS_PX != 0) begin : g_px
      lane_memory #(.LANES(COLS), .BITS(16), .ADDRESS_BITS(LP)) mem_px (
        .clk(clk), .a_re(col_in & {COLS{!dx && psrc}}), .a_ra(col_ra),
        .a_we({COLS{1'b0}}), .a_wa({COLS*16{1'b0}}), .a_wd({COLS*16{1'b0}}),
        .re(px_re), .ra(px_ra), .we({COLS{px_we}}), .wsel({COLS{1'b0}}), .wa(px_wa), .wb(16'd0),
        .wd(px_wd), .rd(px_rd), .clash(clash_px));
      assign x_data = psrc ? px_rd : x_rd;
    end else begin : g_no_px
      assign px_rd = {COLS*16{1'b0}};
      assign clash_px = 1'b0;
      assign x_data = x_rd;
    end
    if (MODES != 0) begin : g_backward
      lane_memory #(.LANES(ROWS), .BITS(16), .ADDRESS_BITS(LY)) mem_g (
        .clk(clk), .a_re(row_in & {ROWS{!forward}}), .a_ra(row_ra),
        .a_we({ROWS{1'b0}}), .a_wa({ROWS*16{1'b0}}), .a_wd({ROWS*16{1'b0}}),
        .re(g_re), .ra(g_ra), .we(g_we), .wsel(g_wsel), .wa(g_wa), .wb(g_wb), .wd(g_wd), .rd(g_rd),
        .clash(clash_g));
      lane_memory #(.LANES(COLS), .BITS(32), .ADDRESS_BITS(LX)) mem_d (
        .clk(clk), .a_re(col_in & {COLS{dx && acc_in}}), .a_ra(col_ra),
        .a_we(col_out), .a_wa(col_wa), .a_wd(top),
        .re(d_re), .ra(d_ra), .we({COLS{d_we}}), .wsel({COLS{1'b0}}), .wa(d_wa), .wb(16'd0),
        .wd(d_wd), .rd(d_rd), .clash(clash_d));
      lane_memory #(.LANES(ROWS), .BITS(32), .ADDRESS_BITS(LW)) mem_o (
        .clk(clk), .a_re({ROWS{1'b0}}), .a_ra({ROWS*16{1'b0}}),
        .a_we({ROWS{drain_we}}), .a_wa({ROWS{drain_row}}), .a_wd(right),
        .re(o_re), .ra(o_ra), .we(o_we), .wsel(o_wsel), .wa(o_wa), .wb(o_wb), .wd(o_wd), .rd(o_rd),
        .clash(clash_o));
    end else begin : g_forward_only
      assign {g_rd, d_rd, o_rd} = {(ROWS*16 + COLS*32 + ROWS*32){1'b0}};
      assign {clash_g, clash_d, clash_o} = 3'd0;
    end
    for (k = 0; k < ROWS; k = k + 1) begin : g_left
      assign left[k*32 +: 32] =
        left_is_w ? {16'd0, w_rd[k*16 +: 16]} :
        !row_now[k] ? 32'd0 :
        forward ? (acc_in ? y_rd[k*32 +: 32] : 32'd0) : {16'd0, g_rd[k*16 +: 16]};
    end
    for (k = 0; k < COLS; k = k + 1) begin : g_bottom
      assign bottom[k*32 +: 32] =
        !col_now[k] ? 32'd0 :
        dx ? (acc_in ? d_rd[k*32 +: 32] : 32'd0) : {16'd0, x_data[k*16 +: 16]};
    end
  endgenerate
endmodule
